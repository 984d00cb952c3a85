/**
 * What the log of changes costs a write: `node bench/changes.ts [--rounds 40] [--requests 160]`. Servers of this process
 * take turns: one keeps no changes, one has events, one keeps a history, and one is the first again. Counted is the CPU
 * time of the whole process, and on PostgreSQL that of the database too.
 */
import { readFile, writeFile } from 'node:fs/promises'
import type { Server } from 'node:http'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { readConfig } from '../src/config/config.ts'
import { type App, startApp } from '../src/server/app.ts'
import { createLog } from '../src/server/observe/log.ts'
import { environmentOf, withDatabase } from './fixture/environment.ts'
import { Fixtures } from './fixture/fixtures.ts'
import { type Prepared, USUAL } from './fixture/shape.ts'
import { askInMemory, printQuantiles, serverOf } from './load/in-memory.ts'
import { startPostgres } from './machine/postgres.ts'
import { quantile } from './report/statistics.ts'

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '40' }, requests: { type: 'string', default: '160' } },
})
const WARM_UPS = 10
const SMALL = { ...USUAL, notes: 200 }
const KINDS = ['create', 'update', 'delete'] as const
type Kind = (typeof KINDS)[number]

/** What each server's schema file of notes says besides. */
const LOGGED: Readonly<Record<string, (schema: NotesSchema, path: string) => unknown>> = {
  neither: (schema) => schema,
  events: ({ 'x-resource': resource, ...schema }, path) => {
    const route = { path: `${path}events`, methods: ['GET'], events: {} }
    return { ...schema, 'x-resource': { ...resource, routes: [...resource.routes, route] } }
  },
  history: (schema) => ({ ...schema, 'x-history': { keep: '2y' } }),
}

interface NotesSchema {
  readonly 'x-resource': { readonly routes: readonly unknown[] }
}

interface Logging {
  readonly name: string
  readonly app: App
  readonly server: Server
  readonly head: (line: string) => string
  readonly path: string
  readonly owner: unknown
}

async function start(name: string, { folder, target }: Prepared, more: Record<string, string>): Promise<Logging> {
  const file = join(folder, 'schemas/notes.json')
  const schema = (LOGGED[name] ?? LOGGED.neither)?.(JSON.parse(await readFile(file, 'utf8')), target.path)
  await writeFile(file, JSON.stringify(schema))
  const read = readConfig({ ...environmentOf(folder), ...more, PORT: '0' })
  // As `sallyport serve`.
  const config = { ...read, database: { ...read.database, writer: 'thread' as const } }
  const apps: App[] = []
  const server = await serverOf(async () =>
    apps.push(await startApp({ config, log: createLog('silent', process.stderr) })),
  )
  const [app] = apps as [App]
  const head = (line: string) => `${line} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${target.token}\r\n`
  const owned = await app.store.get('notes', String(target.ids[0]))
  return { name, app, server, head, path: target.path, owner: owned?.document }
}

/** Microseconds of CPU for each request of a kind. */
async function turn({ app, server, head, path, owner }: Logging, cpu: () => number): Promise<Record<Kind, number>> {
  const count = Number(values.requests)
  const ids = Array.from({ length: count }, () => crypto.randomUUID())
  await app.seeding.insert(
    'notes',
    ids.map((id) => ({ id, document: owner as Record<string, string> })),
  )
  const withBody = (line: string, type: string, body: string) =>
    `${head(line)}Content-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  const requests: Record<Kind, readonly string[]> = {
    create: [withBody(`POST ${path.replace(/\/$/, '')}`, 'application/json', '{"title":"Milk","body":"two"}')],
    update: ids.map((id) => withBody(`PATCH ${path}${id}`, 'application/merge-patch+json', '{"title":"Bread"}')),
    delete: ids.map((id) => `${head(`DELETE ${path}${id}`)}\r\n`),
  }
  const each = { create: 0, update: 0, delete: 0 }
  for (const kind of KINDS) {
    const before = cpu()
    await askInMemory(server, requests[kind], count)
    each[kind] = (cpu() - before) / count
  }
  return each
}

async function compare(engine: string, servers: readonly Logging[], cpu: () => number): Promise<void> {
  const rounds: Record<Kind, number>[][] = []
  for (let round = -WARM_UPS; round < Number(values.rounds); round++) {
    const measured: Record<Kind, number>[] = []
    for (const i of round % 2 === 0 ? servers.keys() : [...servers.keys()].toReversed())
      measured[i] = await turn(servers[i] as Logging, cpu)
    if (round >= 0) rounds.push(measured)
  }
  for (const kind of KINDS) {
    const of = (i: number) => rounds.map((measured) => measured[i]?.[kind] ?? Number.NaN)
    printQuantiles(`${engine}, ${kind}: us`, of(0))
    // Other work on the machine adds to a turn, and takes nothing away: the cheapest quarter says the most.
    const cheap = (i: number) => quantile(of(i), 0.25)
    for (const [i, { name }] of servers.entries())
      if (i > 0) process.stdout.write(`${engine}, ${kind}: ${name} ${(cheap(i) / cheap(0)).toFixed(3)}\n`)
  }
}

const processMicros = () => {
  const { user, system } = process.cpuUsage()
  return user + system
}

const fixtures = new Fixtures()
const onSqlite: Logging[] = []
for (const name of ['neither', 'events', 'history', 'neither again'])
  onSqlite.push(await start(name, await fixtures.prepared(SMALL, name.replace(' ', '-')), {}))
await compare('SQLite', onSqlite, processMicros)
const postgres = await startPostgres()
try {
  const onPostgres: Logging[] = []
  for (const name of ['neither', 'events', 'history', 'neither again']) {
    const url = await postgres.create(name.replace(' ', '_'))
    onPostgres.push(await start(name, await fixtures.inDatabase(SMALL, url), withDatabase(url)))
  }
  await compare('PostgreSQL', onPostgres, () => processMicros() + postgres.cpuMicros())
} finally {
  await postgres.stop()
}
process.exit()
