/** Streams of events and webhooks of several processes: workers, instances on one database, and those after a restart. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { freePort } from '../redis.ts'
import { soak } from '../runs.ts'
import type { ServedCluster } from '../serve/cluster.ts'
import { until } from '../until.ts'
import { type FollowingClient, Refusal } from './follow.ts'
import { ParcelOffice, socketsOfWorkers } from './parcel-office.ts'

/** So that each worker has one. */
const EACH = 2

for (const engine of soak(['SQLite', 'PostgreSQL'] as const, ['PostgreSQL'] as const)) {
  describe(`events of several processes, on ${engine}`, () => {
    let office: ParcelOffice
    let served: ServedCluster
    /** Another instance on the database; an SQLite file has one. */
    let other: ServedCluster
    let support: string

    before(async () => {
      office = await ParcelOffice.make(engine)
      const second = engine === 'PostgreSQL' ? office.start('other', 1) : undefined
      served = await office.start('served', 2, { PORT: String(await freePort()) })
      other = (await second) ?? served
      support = await office.tokenOf('sue', 'support')
    })
    after(() => office.remove())

    /** On each worker, and on the other instance. */
    const followAll = async (token: string): Promise<readonly FollowingClient[]> => {
      const before = await socketsOfWorkers(served)
      const clients: FollowingClient[] = []
      for (const cluster of [...new Array<ServedCluster>(EACH).fill(served), other])
        clients.push(await office.follow(cluster, token))
      const after = await socketsOfWorkers(served)
      expect(
        after.every((open, i) => open > (before[i] ?? 0)),
        `${before} ${after}`,
      ).to.equal(true)
      return clients
    }
    const toldOf = (client: FollowingClient) => client.heard.flatMap(({ data }) => data.id ?? [])

    it('tell each client of what another process wrote, in the order of the commits', async () => {
      const clients = await followAll(support)
      const ids: string[] = []
      for (const place of [served, served, other, served, other]) ids.push(await office.make(place))
      for (const client of clients) {
        await until(() => client.heard.length > ids.length)
        expect(toldOf(client)).to.deep.equal(ids)
        client.close()
      }
    })

    it('end in each process with a revoked key, a block, and a policy without the right', async () => {
      const file = join(office.folder, 'policies/policy.csv')
      const text = await readFile(file, 'utf8')
      const key = await office.keyOf('robot', 'support')
      const bob = await office.tokenOf('bob', 'support')
      const [robots, bobs, others] = [await followAll(key.text), await followAll(bob), await followAll(support)]
      const expectEnd = async (clients: readonly FollowingClient[], token: string, status: number) => {
        await until(() => clients.every(({ isEnded }) => isEnded))
        for (const { heard } of clients) expect(heard.map(({ data }) => data.reason)).to.deep.equal(['start', 'access'])
        const refusal = await office.follow(other, token).catch((error: unknown) => error)
        expect(refusal).to.be.instanceOf(Refusal).and.to.include({ status })
      }
      await Promise.all([office.command('key', 'revoke', key.id), office.block('bob')])
      await expectEnd(robots, key.text, 401)
      await expectEnd(bobs, bob, 403)
      expect(others.map(({ isEnded, heard }) => [isEnded, heard.length])).to.deep.equal(others.map(() => [false, 1]))
      await writeFile(file, text.replaceAll('parcels, read|list|watch', 'parcels, read|list'))
      await expectEnd(others, support, 403)
      await writeFile(file, text)
      const opens = () =>
        office.follow(served, support).then(
          () => true,
          () => false,
        )
      // Each worker reads the files by itself.
      await until(async () => (await Promise.all([opens(), opens(), opens(), opens()])).every(Boolean))
    })

    it('go on after a restart with the last id: nothing is lost, and nothing is told twice', async () => {
      const client = await office.follow(served, support)
      const ids = [await office.make(served), await office.make(other)]
      await until(() => client.heard.length > ids.length)
      // This one has not read what comes now.
      client.close()
      ids.push(await office.make(served), await office.make(other))
      const { port } = new URL(served.url)
      await office.stop(served)
      if (other !== served) ids.push(await office.make(other))
      const isAlone = other === served
      served = await office.start('served', 2, { PORT: port })
      if (isAlone) other = served
      const again = await office.follow(served, support, { lastEventId: client.lastId ?? '' })
      ids.push(await office.make(other))
      await until(() => toldOf(client).length + toldOf(again).length >= ids.length)
      expect([...toldOf(client), ...toldOf(again)]).to.deep.equal(ids)
      expect(again.heard.map(({ kind }) => kind)).not.to.include('reset')
    })

    it('are sent by one process: a webhook has each event once, in the order of the commits', async () => {
      const { id } = await office.keyOf('erp', 'support')
      await office.subscribe(id)
      await until(() => office.receiver.taken.length > 0)
      const ids: string[] = []
      for (const place of [served, other, served, served, other]) ids.push(await office.make(place))
      await until(() => office.received.length >= ids.length)
      const last = await office.make(served)
      await until(() => office.received.at(-1)?.id === last)
      expect(office.received.map((event) => event.id)).to.deep.equal([...ids, last])
      expect(
        office.receiver.taken.map(({ body }) => JSON.parse(body).type).filter((type) => type === 'parcels.reset'),
      ).to.have.length(1)
    })
  })
}
