/** A migration of 1,000,000 stored objects, on both engines: the check before it, and the batches. */
import { join } from 'node:path'
import { v7 } from 'uuid'
import { type ParsedMigration, parseMigration } from '../../src/migrations/file/read-migrations.ts'
import { runMigrations } from '../../src/migrations/run/run-migrations.ts'
import { loadSchemas, parseResources } from '../../src/resources/load/load-resources.ts'
import type { Resources } from '../../src/resources/resource.ts'
import type { OpenedStore } from '../../src/store/contract.ts'
import { openDatabase, readDatabaseUrl } from '../../src/store/open.ts'
import { BenchFailure } from '../failure.ts'
import { startPostgres } from '../machine/postgres.ts'
import { removeScratch, scratchFolder } from '../machine/scratch.ts'
import type { PartResult, Row } from '../report/result.ts'
import type { Bench } from './part.ts'

export const migrate = { id: 'migrate', measure }

const SCHEMAS = new URL('../../schemas', import.meta.url).pathname
const MILLION = 1_000_000
/** A round takes a minute or more, and is compared with nothing. */
const MOST_ROUNDS = 1
const CHUNK = 5000
/** Seconds; what a million objects may take. */
const MOST_SECONDS = 60
const [CHECKING, CHANGING, ALL] = ['s checking', 's changing', 's in all']

/** The field has one name in even rounds, and the other in odd ones. */
const NAMES = ['note', 'remark'] as const

async function measure(bench: Bench): Promise<PartResult> {
  const count = bench.settings.small ? 2000 : MILLION
  const folder = scratchFolder()
  const postgres = await startPostgres()
  try {
    const databases = [
      ['SQLite', `sqlite:${join(folder, 'bench.db')}`],
      ['PostgreSQL', await postgres.create('migrate')],
    ] as const
    const rows: Row[] = []
    const leftOut: string[] = []
    for (const [subject, url] of databases) {
      try {
        rows.push(await measureOn(bench, { subject, url, count }))
      } catch (error) {
        // The other engine is measured without it.
        leftOut.push(`${subject}: ${(error as Error).message}`)
      }
    }
    if (rows.length === 0) throw new BenchFailure(leftOut.join('; '))
    const inAll = rows.map(({ subject, quantities }) => {
      return { what: `seconds for ${count} objects, ${subject}`, atMost: MOST_SECONDS, values: quantities[ALL] ?? [] }
    })
    return {
      id: migrate.id,
      title: 'Migration of a million objects',
      method:
        `${count} orders, each with a field that is renamed: first all are checked against the new schemas, then ` +
        'changed in durable batches of 1000 with their indexes, versions and decision records. Without the backup. One round.',
      rows,
      targets: inAll,
      leftOut,
    }
  } finally {
    await postgres.stop()
    removeScratch(folder)
  }
}

interface Measured {
  readonly subject: string
  readonly url: string
  readonly count: number
}

type Samples = Readonly<Record<'checking' | 'changing', number[]>>

async function measureOn(bench: Bench, { subject, url, count }: Measured): Promise<Row> {
  const database = readDatabaseUrl(url)
  if ('fault' in database) throw new BenchFailure(database.fault)
  const samples: Samples = { checking: [], changing: [] }
  const now = () => new Date()
  const opened = await openDatabase(database, { resources: await resourcesWith(NAMES[0]), now })
  try {
    await fill(opened, count)
    for (let round = 1; round <= Math.min(MOST_ROUNDS, bench.settings.rounds); round += 1) {
      const { checking, changing } = await migrateOnce(opened, round)
      bench.tell(`round ${round}: ${subject}: ${checking.toFixed(1)} s + ${changing.toFixed(1)} s`)
      samples.checking.push(checking)
      samples.changing.push(changing)
      // Another process would ship them to the log meanwhile.
      await opened.outbox.shipped(Number.MAX_SAFE_INTEGER)
    }
  } finally {
    await opened.store.close()
  }
  const inAll = samples.checking.map((seconds, at) => seconds + (samples.changing[at] ?? 0))
  return { subject, quantities: { [CHECKING]: samples.checking, [CHANGING]: samples.changing, [ALL]: inAll } }
}

async function migrateOnce({ migrations }: OpenedStore, round: number) {
  const [from, to] = round % 2 === 1 ? NAMES : NAMES.toReversed()
  const files = Array.from({ length: round }, (_, n) => renaming(n + 1))
  const resources = await resourcesWith(to as string)
  const began = performance.now()
  let begun = began
  const result = await runMigrations({
    store: migrations,
    resources,
    files,
    now: () => new Date(),
    hidesIds: () => false,
    onBegin: () => {
      begun = performance.now()
    },
  })
  if (result.kind !== 'ended') throw new BenchFailure(`the migration from \`${from}\` to \`${to}\` is ${result.kind}`)
  return { checking: (begun - began) / 1000, changing: (performance.now() - begun) / 1000 }
}

function renaming(number: number): ParsedMigration {
  const [from, to] = number % 2 === 1 ? NAMES : NAMES.toReversed()
  const name = `${String(number).padStart(4, '0')}-rename`
  const text = `resources: { orders: [rename: { from: ${from}, to: ${to} }] }`
  const parsed = parseMigration({ name, text }, name, ({ message }) => {
    throw new BenchFailure(message)
  })
  if (!parsed) throw new BenchFailure('the migration of the bench has faults')
  return parsed
}

async function resourcesWith(name: string): Promise<Resources> {
  const { sources } = await loadSchemas(SCHEMAS)
  return parseResources(
    sources.map((source) => ({ ...source, text: source.text.replace('"note":', `${JSON.stringify(name)}:`) })),
  )
}

async function fill({ seeding }: OpenedStore, count: number): Promise<void> {
  for (let made = 0; made < count; made += CHUNK) {
    const length = Math.min(CHUNK, count - made)
    await seeding.insert(
      'orders',
      Array.from({ length }, (_, n) => ({
        id: v7(),
        document: {
          customerId: `u${(made + n) % 100}`,
          status: 'placed',
          currency: 'EUR',
          items: [{ sku: `sku-${n % 1000}`, quantity: 1 + (n % 5), unitPrice: 1250 }],
          note: `Please ring twice, order ${made + n}`,
        },
      })),
    )
  }
}
