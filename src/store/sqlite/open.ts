/** The embedded engine: one SQLite file (or memory) behind the contract of contract.ts. */
import type { DatabaseSync } from 'node:sqlite'
import { storedResources } from '../../resources/stored-resources.ts'
import type { OpenedStore, OpenOptions, StoreEngine } from '../contract.ts'
import { StoreUnavailable, UnfitDatabase } from '../errors.ts'
import { GroupCommits } from './commits/commits.ts'
import { SqliteReplays } from './commits/idempotency-keys.ts'
import { SqliteMigrations } from './commits/migrations.ts'
import { SqliteOutbox } from './commits/outbox.ts'
import { answering, openDatabaseFile, renewStatistics } from './database.ts'
import { SqliteAttempts } from './directory/attempts.ts'
import { SqliteDirectory } from './directory/directory.ts'
import { SqliteSessions } from './directory/sessions.ts'
import { openSqlitePolicyVersions } from './instances/policy-versions.ts'
import { openSqliteSigningKeys } from './instances/signing-keys.ts'
import { NamedValues, PROBED } from './layout/meta.ts'
import { migrate, queriedTable, refuseOtherLayout } from './layout/migrate.ts'
import { planTable, type TablePlan } from './layout/schema.ts'
import { SqliteProbe } from './probe.ts'
import { Damage } from './query/damage.ts'
import { ObjectLists } from './query/lists.ts'
import { Lookups } from './query/lookups.ts'
import { mendOfFile } from './reader/mend.ts'
import { openSqliteReader } from './reader/reader.ts'
import { SqliteSeeding } from './seeding.ts'
import { SharedReads } from './shared-reads.ts'
import { getOrFail, type SqliteEngine, SqliteStore } from './store.ts'
import { ObjectTable } from './table.ts'

/** The most expired idempotency keys, and ended sessions, that opening the database deletes. */
const SWEPT_AT_START = 10_000

interface SqliteOptions extends OpenOptions {
  /** A missing file is created with access only for its owner; its folder must exist. */
  readonly file: string | ':memory:'
}

export const sqlite: StoreEngine = {
  open: (file, options) => openSqlite({ ...options, file }),
  openBeside: (file, options) => openSqliteBeside({ ...options, file }),
  openReader: openSqliteReader,
  mendOf: mendOfFile,
  examine: async (file) => (await import('./reader/examine.ts')).examineSqlite(file),
  openPolicyVersions: openSqlitePolicyVersions,
  openSigningKeys: openSqliteSigningKeys,
  copy: async (file, folder) => (await import('./copies/copy-file.ts')).copySqlite(file, folder),
  place: async (file) => (await import('./copies/place-file.ts')).placeSqlite(file),
}

export function openSqlite(options: SqliteOptions): Promise<OpenedStore> {
  return open(options, (database, plans) => {
    migrate(database, plans)
    renewStatistics(database)
    new SqliteReplays(database, options.now).sweep(SWEPT_AT_START)
    new SqliteSessions(database).sweep(options.now().getTime(), SWEPT_AT_START)
  })
}

export function openSqliteBeside(options: Omit<SqliteOptions, 'indexFields'>): Promise<OpenedStore> {
  return open(options, refuseOtherLayout)
}

type Prepare = (database: DatabaseSync, plans: readonly TablePlan[]) => void

async function open(options: SqliteOptions, prepare: Prepare): Promise<OpenedStore> {
  const plans = planTables(options)
  const database = answering(() => openDatabaseFile(options.file))
  try {
    prepare(database, plans)
    const queried = new Map(plans.map((plan) => [plan.resource, queriedTable(database, plan)]))
    const queriedOf = (resource: string) => getOrFail(queried, resource)
    const damage = new Damage(database)
    const reads = new SharedReads(database)
    const tables = new Map<string, ObjectTable>()
    for (const plan of plans) {
      const lists = new ObjectLists(database, queriedOf(plan.resource), queriedOf, damage, reads)
      tables.set(plan.resource, new ObjectTable(database, plan, lists))
    }
    const lookups = new Lookups(database, queriedOf, damage)
    const commits = new GroupCommits(database)
    const outbox = new SqliteOutbox(database, commits, options.now)
    const replays = new SqliteReplays(database, options.now)
    const values = new NamedValues(database)
    const probe = new SqliteProbe(options.file, () =>
      commits.write(() => {
        // Two values: SQLite writes no page whose content stays the same. The second write restores the first value.
        values.setMark(PROBED, 'asked')
        values.setMark(PROBED, 'answered')
      }),
    )
    const { now } = options
    const engine: SqliteEngine = { database, reads, tables, lookups, values, commits, outbox, replays, probe, now }
    const attempts = new SqliteAttempts(database, options.now)
    const directory = new SqliteDirectory(engine)
    const migrations = new SqliteMigrations(engine)
    const seeding = new SqliteSeeding(engine)
    return { store: new SqliteStore(engine), seeding, outbox, directory, attempts, migrations }
  } catch (error) {
    database.close()
    throw error instanceof UnfitDatabase ? error : new StoreUnavailable(error)
  }
}

function planTables({ resources, indexFields }: SqliteOptions): readonly TablePlan[] {
  return storedResources(resources).map((resource) => planTable(resource, indexFields?.get(resource.name) ?? []))
}
