/** Puts the parts of an open database together: the same ones in a command, a server and the thread that writes for it. */
import type { DatabaseSync } from 'node:sqlite'
import type { OpenedStore } from '../contract.ts'
import type { ReadBounds } from '../lists/read-bounds.ts'
import { GroupCommits } from './commits/commits.ts'
import { SqliteReplays } from './commits/idempotency-keys.ts'
import { SqliteMigrations } from './commits/migrations.ts'
import { SqliteOutbox } from './commits/outbox.ts'
import { SqliteSeeding } from './commits/seeding.ts'
import { SqliteAttempts, SqliteCounters } from './directory/attempts.ts'
import { SqliteDirectory } from './directory/directory.ts'
import { NamedValues } from './layout/meta.ts'
import { queriedTable } from './layout/migrate.ts'
import type { TablePlan } from './layout/schema.ts'
import { SqliteProbe } from './probe.ts'
import { Damage } from './query/damage.ts'
import { ObjectLists } from './query/lists.ts'
import { Lookups } from './query/lookups.ts'
import { SharedReads } from './shared-reads.ts'
import { getOrFail, type SqliteEngine, SqliteStore } from './store.ts'
import { ObjectTable } from './table.ts'

export interface DatabaseParts {
  readonly file: string | ':memory:'
  readonly plans: readonly TablePlan[]
  readonly now: () => Date
  readonly bounds: ReadBounds
}

/** The database with all its interfaces. */
export interface Assembled {
  readonly engine: SqliteEngine
  readonly opened: OpenedStore
}

/** The tables must be there. */
export function assemble(database: DatabaseSync, { file, plans, now, bounds }: DatabaseParts): Assembled {
  const queried = new Map(plans.map((plan) => [plan.resource, queriedTable(database, plan)]))
  const queriedOf = (resource: string) => getOrFail(queried, resource)
  const damage = new Damage(database)
  const reads = new SharedReads(database)
  const tables = new Map<string, ObjectTable>()
  for (const plan of plans) {
    const lists = new ObjectLists(database, queriedOf(plan.resource), queriedOf, damage, reads)
    tables.set(plan.resource, new ObjectTable(database, plan, lists))
  }
  const commits = new GroupCommits(database)
  const values = new NamedValues(database)
  const engine: SqliteEngine = {
    database,
    reads,
    tables,
    lookups: new Lookups(database, queriedOf, damage),
    values,
    commits,
    outbox: new SqliteOutbox(database, commits, now),
    replays: new SqliteReplays(database, now),
    counters: new SqliteCounters(database, commits, now),
    probe: new SqliteProbe(file, () => commits.write(() => values.touch())),
    now,
    bounds,
  }
  const opened = {
    store: new SqliteStore(engine),
    seeding: new SqliteSeeding(engine),
    outbox: engine.outbox,
    directory: new SqliteDirectory(engine),
    attempts: new SqliteAttempts(engine.counters),
    migrations: new SqliteMigrations(engine),
  }
  return { engine, opened }
}
