/**
 * How long a neighbour waits for a GET while others read much: `node test/request/neighbours.ts SQLite`, or PostgreSQL.
 * The server is a process of its own. Prints a line for each kind of work beside it.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { ENGINES } from '../data/each-engine.ts'
import { withRules } from '../policy-text.ts'

const SHIPPED = (name: string) => readFileSync(new URL(`../../policies/${name}`, import.meta.url), 'utf8')

const ID = { type: 'string', maxLength: 99 }

const FILES = {
  'schemas/folders.json': JSON.stringify({
    title: 'Folder',
    type: 'object',
    'x-resource': {
      routes: [
        { path: '/folders', methods: ['GET', 'POST'] },
        { path: '/folders/{id}', methods: ['GET', 'PATCH'] },
      ],
    },
    properties: {
      id: { ...ID, readOnly: true },
      createdAt: { type: 'string', readOnly: true },
      updatedAt: { type: 'string', readOnly: true },
      ownerId: ID,
      parents: { type: 'array', items: ID },
    },
    additionalProperties: false,
  }),
  'policies/limits.yaml': 'body: 100kb\npage: { default: 50, max: 200 }\nlimits: {}\n',
  'policies/ownership.yaml': `${SHIPPED('ownership.yaml')}
folders:
  relations:
    owner: ownerId
    inherited: { through: parents, to: folders, relation: owner, depth: 8 }
`,
  'policies/policy.csv': withRules(
    SHIPPED('policy.csv'),
    'p, member, folders, create, owner, *, allow\np, member, folders, list|read|create, inherited, *, allow',
  ),
}

const NOTES = 300_000
const AT_ONCE = 500
const MEASURED_MS = 8_000
/** A climb from one of them meets as many objects as a climb may. */
const WIDE = Array.from({ length: 300 }, (_, n) => `wide-${n}`)

interface Served {
  readonly url: string
  readonly tokens: Readonly<Record<'alice' | 'bob', string>>
}

async function serve(engine: string): Promise<void> {
  const start = ENGINES.find(([name]) => name === engine)?.[1]
  if (!start) throw new Error(`${engine} is no engine`)
  const { server } = await start({ uncheckedBecause: 'it is measured', files: FILES, writer: 'thread' })
  const { seeding } = server.app
  for (let from = 0; from < NOTES; from += AT_ONCE) {
    const some = Array.from({ length: AT_ONCE }, (_, n) => ({
      id: `note-${from + n}`,
      document: { ownerId: 'alice', title: `Note ${from + n}` },
    }))
    await seeding.insert('notes', some)
  }
  await seeding.insert('notes', [{ id: 'of-bob', document: { ownerId: 'bob', title: 'Mine' } }])
  await seeding.insert(
    'folders',
    WIDE.map((id) => ({ id, document: { ownerId: 'mallory', parents: WIDE } })),
  )
  const [alice, bob] = await Promise.all(['alice', 'bob'].map((who) => server.token(who, 'member')))
  process.send?.({ url: server.url, tokens: { alice, bob } })
}

/** So many requests of alice are under way all the time, until `isOver`. Answers how many were answered, by status. */
async function press(count: number, isOver: () => boolean, ask: () => Promise<Response>) {
  const statuses: Record<string, number> = {}
  const one = async () => {
    while (!isOver()) {
      const answer = await ask()
      await answer.arrayBuffer()
      statuses[answer.status] = (statuses[answer.status] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: count }, one))
  return statuses
}

async function millisecondsOf(expected: number, ask: () => Promise<Response>): Promise<number> {
  const begun = performance.now()
  const answer = await ask()
  const text = await answer.text()
  if (answer.status !== expected) throw new Error(`the neighbour got ${answer.status}: ${text}`)
  return performance.now() - begun
}

function figuresOf(milliseconds: readonly number[]): string {
  const sorted = milliseconds.toSorted((a, b) => a - b)
  const at = (share: number) => (sorted[Math.ceil(sorted.length * share) - 1] ?? 0).toFixed(1)
  return `p50 ${at(0.5)}, p99 ${at(0.99)}, longest ${at(1)} ms of ${sorted.length}`
}

async function measure(engine: string): Promise<void> {
  const child = fork(import.meta.filename, [engine, 'serve'])
  const [{ url, tokens }] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => process.exit(1)),
  ])) as [Served]
  const asked = (path: string, who: keyof Served['tokens'], body?: unknown) =>
    fetch(`${url}${path}`, {
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
      headers: { authorization: `Bearer ${tokens[who]}`, 'content-type': 'application/json' },
    })
  const [from, to] = ['2020-01-01T00:00:00Z', '2999-01-01T00:00:00Z']
  const counted = `/api/v1/notes?limit=1&count=exact&createdAt[gte]=${from}&createdAt[lt]=${to}`
  const made = (ownerId: string) => () => asked('/folders', 'alice', { ownerId, parents: WIDE })
  const loads: Readonly<Record<string, readonly [count: number, ask: () => Promise<Response>]>> = {
    nothing: [0, () => asked('/', 'alice')],
    '5 counts': [5, () => asked(counted, 'alice')],
    '5 lists that climb': [5, () => asked('/folders', 'alice')],
    '100 wide climbs': [100, () => asked('/folders/wide-1', 'alice')],
    '100 creates that climb before': [100, made('mallory')],
    '100 creates that climb after': [100, made('alice')],
  }
  for (const [name, [count, ask]] of Object.entries(loads)) {
    let isOver = false
    const pressed = press(count, () => isOver, ask)
    await sleep(500)
    const [reads, writes]: [number[], number[]] = [[], []]
    const end = performance.now() + MEASURED_MS
    while (performance.now() < end) {
      reads.push(await millisecondsOf(200, () => asked('/api/v1/notes/of-bob', 'bob')))
      await sleep(10)
      writes.push(await millisecondsOf(201, () => asked('/api/v1/notes', 'bob', { title: 'Another' })))
      await sleep(10)
    }
    isOver = true
    const line = `${name}: GET ${figuresOf(reads)}; POST ${figuresOf(writes)}`
    process.stdout.write(`${line}; beside it ${JSON.stringify(await pressed)}\n`)
  }
  child.kill('SIGKILL')
}

const [engine = 'SQLite', role] = process.argv.slice(2)
await (role === 'serve' ? serve(engine) : measure(engine))
