/** The engine for many instances: a PostgreSQL database behind the contract of contract.ts. */

import { storedResources } from '../../resources/stored-resources.ts'
import type { OpenedStore, OpenOptions, StoreEngine } from '../contract.ts'
import { READ_BOUNDS } from '../lists/read-bounds.ts'
import { sweepReplays } from './commits/idempotency-keys.ts'
import { PostgresMigrations } from './commits/migrations.ts'
import { PostgresOutbox } from './commits/outbox.ts'
import { DEFAULT_SETTINGS } from './connections/client-options.ts'
import { Connections } from './connections/connections.ts'
import { mendOfServer } from './connections/mend.ts'
import { PostgresAttempts } from './directory/attempts.ts'
import { PostgresDirectory } from './directory/directory.ts'
import { sweepSessions } from './directory/sessions.ts'
import { asOfContract } from './failures.ts'
import { openPostgresPolicyVersions, openPostgresSigningKeys } from './instances.ts'
import { planTable, type TablePlan } from './layout/indexes.ts'
import { migrate, queriedTable, refuseOtherLayout } from './layout/migrate.ts'
import { migrating } from './layout/migrating.ts'
import { openPostgresReader } from './reader/reader.ts'
import { PostgresSeeding } from './seeding.ts'
import { type PostgresEngine, PostgresStore } from './store.ts'
import { ObjectTable } from './table.ts'

/** The most expired idempotency keys, and ended sessions, that opening the database deletes. */
const SWEPT_AT_START = 10_000

interface PostgresOptions extends OpenOptions {
  readonly url: string
}

export const postgres: StoreEngine = {
  open: (url, options) => openPostgres({ ...options, url }),
  openBeside: (url, options) => openPostgresBeside({ ...options, url }),
  openReader: openPostgresReader,
  mendOf: mendOfServer,
  layoutOf: async () => undefined,
  examine: async (url, options) => (await import('./reader/examine.ts')).examinePostgres(url, options),
  openPolicyVersions: openPostgresPolicyVersions,
  openSigningKeys: openPostgresSigningKeys,
  copy: async (url) => (await import('./copies/copy-tables.ts')).copyPostgres(url),
  place: async (url) => (await import('./copies/place-tables.ts')).placePostgres(url),
}

export function openPostgres(options: PostgresOptions): Promise<OpenedStore> {
  return open(options, async (connections, plans) => {
    const { url, connections: settings = DEFAULT_SETTINGS } = options
    await migrating(url, settings, (ask) => migrate(ask, plans))
    const now = options.now().getTime()
    await connections.change(sweepReplays(now, SWEPT_AT_START))
    await connections.change(sweepSessions(now, SWEPT_AT_START))
  })
}

export function openPostgresBeside(options: PostgresOptions): Promise<OpenedStore> {
  return open(options, (connections, plans) => refuseOtherLayout((asked) => connections.slow(asked), plans))
}

type Prepare = (connections: Connections, plans: readonly TablePlan[]) => Promise<void>

async function open(options: PostgresOptions, prepare: Prepare): Promise<OpenedStore> {
  const { url, connections: settings = DEFAULT_SETTINGS, now, reads: bounds = READ_BOUNDS } = options
  const connections = new Connections(url, settings)
  try {
    const plans = planTables(options)
    await prepare(connections, plans)
    const tables = new Map<string, { objects: ObjectTable; queried: Awaited<ReturnType<typeof queriedTable>> }>()
    for (const plan of plans) {
      const queried = await queriedTable((asked) => connections.slow(asked), plan)
      tables.set(plan.resource, { objects: new ObjectTable(plan), queried })
    }
    const engine: PostgresEngine = { connections, tables, now, bounds }
    return {
      store: new PostgresStore(engine),
      seeding: new PostgresSeeding(engine),
      outbox: new PostgresOutbox(connections),
      directory: new PostgresDirectory(engine),
      attempts: new PostgresAttempts(connections, now),
      migrations: new PostgresMigrations(engine),
    }
  } catch (error) {
    await connections.close()
    throw asOfContract(error)
  }
}

function planTables({ resources, indexFields }: OpenOptions): readonly TablePlan[] {
  return storedResources(resources).map((resource) => planTable(resource, indexFields?.get(resource.name) ?? []))
}
