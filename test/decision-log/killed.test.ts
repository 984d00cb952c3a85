/** A server that is killed under load loses no record of a write, and none tells of a write that didn't take place. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { readConfig } from '../../src/config/config.ts'
import type { DecisionRecord } from '../../src/decision-log/decision-record.ts'
import { type App, startApp } from '../../src/server/app.ts'
import { createLog } from '../../src/server/observe/log.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { FIRST_KILL, inTurn, soak, times } from '../runs.ts'
import { until } from '../until.ts'

const LANES = 2
/** Each kill needs a start, which takes the better part of a second. */
const KILLS_PER_LANE = soak(times(16), 4) / LANES
const CONNECTIONS = 6
const ROOT = new URL('../..', import.meta.url).pathname
const SERVER = new URL('killed-server.ts', import.meta.url).pathname
const LIMITS = 'body: 100kb\npage: { default: 50, max: 200 }\nlimits: {}\n'

/** What clients were told of, by the object's id. */
interface Told {
  readonly created: Set<string>
  readonly deleted: Set<string>
  readonly updates: Map<string, number>
}

interface Lane {
  readonly folder: string
  readonly told: Told
}

async function makeLane(): Promise<Lane> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
  await cp(join(ROOT, 'policies'), join(folder, 'policies'), { recursive: true })
  await writeFile(join(folder, 'policies/limits.yaml'), LIMITS)
  return { folder, told: { created: new Set(), deleted: new Set(), updates: new Map() } }
}

/** Writes as fast as it gets answers until the server is gone. */
async function writeUntilGone(url: string, told: Told, agent: Agent): Promise<void> {
  const own: string[] = []
  try {
    for (let i = 0; ; i++) {
      const id = i % 3 === 0 ? undefined : own.at(-1)
      if (id === undefined) own.push(await create(url, told, agent))
      else if (i % 3 === 1) await update(`${url}/api/v1/notes/${id}`, id, told, agent)
      else {
        // What isn't answered may have taken place, or not.
        own.pop()
        const { status } = await send('DELETE', `${url}/api/v1/notes/${id}`, agent)
        if (status === 204) told.deleted.add(id)
      }
    }
  } catch {
    // The server is gone.
  }
}

async function create(url: string, told: Told, agent: Agent): Promise<string> {
  const { status, text } = await send('POST', `${url}/api/v1/notes`, agent, { title: 't' })
  expect(status).to.equal(201)
  const { id } = JSON.parse(text)
  told.created.add(id)
  return id
}

async function update(url: string, id: string, told: Told, agent: Agent): Promise<void> {
  const { status } = await send('PATCH', url, agent, { title: 'u' })
  if (status === 200) told.updates.set(id, (told.updates.get(id) ?? 0) + 1)
}

function send(method: string, url: string, agent: Agent, body?: unknown): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: 'Bearer t', 'content-type': 'application/json' }
    const asking = request(url, { method, agent, headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk) => chunks.push(chunk))
      response.once('end', () => resolve({ status: response.statusCode ?? 0, text: String(Buffer.concat(chunks)) }))
      response.once('error', reject)
    })
    asking.once('error', reject)
    asking.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

/** One life of a server: starts on what the last one left, writes, and is killed so long after its first answer. */
async function liveAndDie({ folder, told }: Lane, afterMs: number, fault?: string): Promise<void> {
  const child = spawn(process.execPath, [SERVER, folder, ...(fault === undefined ? [] : [fault])], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [printed] = await once(child.stdout, 'data')
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const clients = Array.from({ length: CONNECTIONS }, () => writeUntilGone(String(printed).trim(), told, agent))
  // The first write of a process compiles what it runs through, which takes as long as the machine lets it.
  const before = told.created.size
  await until(() => told.created.size > before)
  await sleep(afterMs)
  child.kill('SIGKILL')
  await once(child, 'exit')
  await Promise.all(clients)
  agent.destroy()
}

/** What is wrong with the log, once a last server has shipped what was left. */
async function faultsOf({ folder, told }: Lane): Promise<readonly string[]> {
  const config = readConfig({ PORT: '0', ADMIN_PORT: '0', DATA_DIR: folder, POLICIES: `${folder}/policies` })
  const verifier = { verify: async () => ({ kind: 'anonymous' as const }) }
  const app = await startApp({ config, verifier, log: createLog('silent', process.stderr) })
  while ((await app.outbox.waiting(1)).length > 0) await sleep(5)
  const lines = (await readFile(join(folder, 'decisions.log'), 'utf8')).trim().split('\n')
  const written = lines.map((line) => JSON.parse(line) as DecisionRecord).filter(({ write }) => write !== undefined)
  const records = new Records(written)
  const faults = [...records.orderFaults(), ...records.faultsBy(told), ...(await records.faultsIn(app))]
  await app.drain()
  return [...new Set(faults)]
}

class Records {
  readonly #records: readonly DecisionRecord[]
  readonly #byObject: ReadonlyMap<string, readonly DecisionRecord[]>

  constructor(records: readonly DecisionRecord[]) {
    this.#records = records
    this.#byObject = Map.groupBy(records, ({ objectId }) => objectId ?? '')
  }

  orderFaults(): readonly string[] {
    const inOrder = this.#records.every(({ write }, i) => write === i + 1)
    return inOrder ? [] : ['the numbers of the writes are not 1, 2, 3, …']
  }

  /** What was answered has its record. */
  faultsBy({ created, deleted, updates }: Told): readonly string[] {
    return [
      ...[...created].filter((id) => this.#count(id, 'create') !== 1).map(() => 'a create that was answered'),
      ...[...deleted].filter((id) => this.#count(id, 'delete') !== 1).map(() => 'a delete that was answered'),
      ...[...updates]
        .filter(([id, count]) => this.#count(id, 'update') < count)
        .map(() => 'an update that was answered'),
    ].map((what) => `${what} has not its one record`)
  }

  /** What has a record took place, and what took place has a record. */
  async faultsIn({ store, seeding }: App): Promise<readonly string[]> {
    const faults: string[] = []
    let living = 0
    for (const [id, about] of this.#byObject) {
      const object = await store.get('notes', id)
      const gone = this.#count(id, 'delete') === 1
      living += gone ? 0 : 1
      if (gone !== (object === undefined)) faults.push('a record tells of another end than the store')
      if (object && object.version !== about.length) faults.push('there are not as many records as versions')
    }
    if ((await seeding.count('notes')) !== living) faults.push('the store has objects that no record tells of')
    return faults
  }

  #count(id: string, action: string): number {
    return this.#byObject.get(id)?.filter((one) => one.action === action).length ?? 0
  }
}

const remove = (folder: string) => removeFolder(folder)

describe('the decision log of a server that is killed', () => {
  const lanes: Lane[] = []
  const lane = async () => {
    const made = await makeLane()
    lanes.push(made)
    return made
  }
  after(() => Promise.all(lanes.map(({ folder }) => remove(folder))))

  it(`has each write once, in order, after ${LANES * KILLS_PER_LANE} kills under load`, async () => {
    const living = await Promise.all(Array.from({ length: LANES }, lane))
    await Promise.all(
      living.map(async (one, i) => {
        for (let kill = FIRST_KILL; kill < FIRST_KILL + KILLS_PER_LANE; kill++)
          await liveAndDie(one, 20 + ((kill * 13 + i * 29) % 110))
      }),
    )
    for (const one of living) {
      expect(one.told.created.size).to.be.at.least(KILLS_PER_LANE)
      expect(await faultsOf(one)).to.deep.equal([])
    }
  })

  for (const fault of inTurn(['record after the commit', 'no look at what the log holds'], soak(1, 2))) {
    it(`would be found out with ${fault}`, async () => {
      let faults: readonly string[] = []
      for (let attempt = 0; attempt < 8 && faults.length === 0; attempt++) {
        const one = await lane()
        for (let kill = 0; kill < 3; kill++) await liveAndDie(one, 60 + kill * 31, fault)
        await liveAndDie(one, 60, fault)
        faults = await faultsOf(one)
      }
      expect(faults).not.to.deep.equal([])
    })
  }
})
