/**
 * Workers, and whole servers, are killed while people follow parcels, and a receiver of webhooks is sent them: nobody
 * misses an event, and each is in its place.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { freePort } from '../redis.ts'
import { FIRST_KILL, inTurn, times } from '../runs.ts'
import { childrenOf, type ServedCluster } from '../serve/cluster.ts'
import { until } from '../until.ts'
import type { FollowingClient } from './follow.ts'
import { ParcelOffice } from './parcel-office.ts'

const KILLS = times(6)

// Each commit takes the turn of the other one.
for (const engine of inTurn(['SQLite', 'PostgreSQL'] as const, 2)) {
  describe(`events while processes are killed, on ${engine}`, function () {
    this.timeout(300_000)
    let office: ParcelOffice
    let served: ServedCluster
    let port: string
    let support: string
    let isOver = false
    /** The parcels that are known to be written, in the order of one writer. */
    const made: string[] = []

    before(async () => {
      office = await ParcelOffice.make(engine)
      port = String(await freePort())
      served = await office.start('served', 2, { PORT: port })
      support = await office.tokenOf('sue', 'support')
      await office.subscribe((await office.keyOf('erp', 'support')).id)
      await until(() => office.receiver.taken.length > 0)
    })
    after(() => office.remove())

    async function write(): Promise<void> {
      while (!isOver) {
        const id = await office.make(served).catch(() => undefined)
        if (id === undefined) await sleep(50)
        else made.push(id)
      }
    }

    /** Opens a stream again after each end, with the last id that it has got; returns all that were told. */
    async function follow(): Promise<readonly FollowingClient[]> {
      const clients: FollowingClient[] = []
      while (!isOver) {
        const lastEventId = clients.at(-1)?.lastId
        const options = lastEventId === undefined ? {} : { lastEventId }
        const client = await office.follow(served, support, options).catch(() => undefined)
        if (!client) await sleep(50)
        else {
          clients.push(client)
          await until(() => client.isEnded || isOver)
        }
      }
      return clients
    }

    /** One worker, then the other one, both, and the whole server. */
    async function kill(nth: number): Promise<void> {
      const workers = await childrenOf(served.child)
      if (nth % 4 === 3) {
        await office.stop(served, 'SIGKILL')
        await until(() => workers.every((pid) => !isAlive(pid)))
        served = await office.start('served', 2, { PORT: port })
        return
      }
      const killed = nth % 4 === 2 ? workers : workers.slice(nth % 4, (nth % 4) + 1)
      for (const pid of killed) process.kill(pid, 'SIGKILL')
      const others = async () => (await childrenOf(served.child)).filter((pid) => !killed.includes(pid))
      await until(async () => (await others()).length === 2)
    }

    it('reach each follower once, and the receiver in order, whichever process is killed', async () => {
      const writer = write()
      const followers = [follow(), follow(), follow()]
      for (let nth = FIRST_KILL; nth < FIRST_KILL + KILLS; nth++) {
        const [before, taken] = [made.length, office.received.length]
        // The lease of a process that was killed lasts for some seconds.
        await until(() => made.length > before + 20 && office.received.length > taken)
        await sleep((nth * 37) % 400)
        await kill(nth)
      }
      const count = made.length
      await until(() => made.length > count + 20)
      const last = made.at(-1) ?? ''
      await until(() => office.received.some(({ id }) => id === last))
      isOver = true
      await writer
      for (const clients of await Promise.all(followers)) expectWhole(clients.flatMap(({ heard }) => heard))

      const first = new Map(office.received.map((event) => [event.number, event.id] as const))
      expect(made.slice(0, made.indexOf(last) + 1).filter((id) => ![...first.values()].includes(id))).to.deep.equal([])
      // What may not have been taken is sent again; nothing else is, and nothing comes before its time.
      let most = 0
      const again: number[] = []
      for (const { number } of office.received) {
        if (number <= most) again.push(most - number)
        most = Math.max(most, number)
      }
      expect([...first.keys()]).to.deep.equal([...first.keys()].toSorted((a, b) => a - b))
      expect(again.length).to.be.lessThan(office.received.length / 2)
    })

    function expectWhole(heard: FollowingClient['heard']): void {
      expect(heard.filter(({ kind }) => kind === 'reset')).to.have.length(1)
      const events = heard.slice(1)
      const numbers = events.map(({ id }) => Number.parseInt(id, 10))
      expect(numbers).to.deep.equal([...new Set(numbers)].toSorted((a, b) => a - b))
      const told = new Set(events.map(({ data }) => data.id))
      expect(told.size).to.equal(events.length)
      const begun = made.findIndex((id) => told.has(id))
      // The last ones may come after the end.
      expect(made.slice(begun, -25).filter((id) => !told.has(id))).to.deep.equal([])
      expect(told.size).to.be.greaterThan(KILLS * 10)
    }
  })
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
