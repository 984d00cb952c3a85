/** Puts the parts of an open database together: the same ones in a command, a server and the thread that writes for it. */
import type { DatabaseSync } from 'node:sqlite'
import { USERS } from '../../decide/policy.ts'
import type { OpenedStore } from '../contract.ts'
import type { ReadBounds } from '../lists/read-bounds.ts'
import { SqlCounters } from '../sql/attempts.ts'
import type { TablePlan } from '../sql/indexes.ts'
import type { InstanceDatabase } from '../sql/instances.ts'
import { getOrFail } from '../sql/objects.ts'
import { openedStore } from '../sql/opened.ts'
import type { SqlEngine, Statement } from '../sql/statement.ts'
import { SqliteAccountStatuses } from './account-statuses.ts'
import { type Commits, GroupCommits } from './commits.ts'
import { answering, identityOf, inTransaction, openDatabaseFile, renewStatistics } from './database.ts'
import { queriedTable } from './layout/migrate.ts'
import { ObjectLists } from './query/lists.ts'
import { Damage, holdsIn } from './query/lookups.ts'
import { SharedReads } from './shared-reads.ts'
import { DIALECT, StatementRunner } from './statements.ts'
import { ObjectWrites, type SqliteEngine, SqliteStore } from './store.ts'
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
export function assemble(
  database: DatabaseSync,
  { file, plans, now, bounds }: DatabaseParts,
  commits: Commits = new GroupCommits(database),
): Assembled {
  const queried = new Map(plans.map((plan) => [plan.resource, queriedTable(database, plan)]))
  const queriedOf = (resource: string) => getOrFail(queried, resource)
  const damage = new Damage(database)
  const reads = new SharedReads(database)
  const statements = new StatementRunner(database)
  const tables = new Map<string, ObjectTable>()
  for (const plan of plans) {
    const lists = new ObjectLists({ database, statements, resource: plan.resource, tableOf: queriedOf, damage, reads })
    tables.set(plan.resource, new ObjectTable(database, plan, lists))
  }
  const sql = sqlEngine(statements, commits, now)
  const parts = {
    file,
    identity: identityOf(file),
    database,
    statements,
    sql,
    reads,
    tables,
    holds: holdsIn(database, statements, queriedOf, damage),
    commits,
    counters: new SqlCounters(sql),
    now,
    bounds,
  }
  const engine: SqliteEngine = { ...parts, writes: new ObjectWrites(parts) }
  const store = new SqliteStore(engine)
  const users = tables.get(USERS)
  const opened = openedStore({
    engine: sql,
    store,
    accountStatuses: new SqliteAccountStatuses(database, users, reads),
    attempts: engine.counters,
    users,
    objectsOf: (resource) => getOrFail(tables, resource),
    grown: () => renewStatistics(database),
    waitForDisk: (waits) => waitForDisk(database, waits),
  })
  return { engine, opened }
}

function sqlEngine(statements: StatementRunner, commits: Commits, now: () => Date): SqlEngine {
  return {
    dialect: DIALECT,
    now,
    ask: async (statement) => answering(() => statements.ask(statement)),
    write: (work) => commits.write(() => statements.run(work())),
    change: (statement) => commits.write(() => statements.ask(statement)),
    changeSoon: (statement) => commits.join(() => statements.ask(statement)),
  }
}

/** https://sqlite.org/pragma.html#pragma_synchronous */
function waitForDisk(database: DatabaseSync, waits: boolean): void {
  const [synchronous, pages] = waits ? ['full', 1000] : ['normal', 10_000]
  answering(() => database.exec(`pragma synchronous = ${synchronous}; pragma wal_autocheckpoint = ${pages}`))
}

/**
 * What instances share beside the store, on a connection of its own. A missing file is created; its folder must exist.
 * Throws StoreUnavailable.
 */
export function openInstanceFile(file: string): InstanceDatabase {
  const database = answering(() => openDatabaseFile(file))
  const statements = new StatementRunner(database)
  const ask = async (statement: Statement) => answering(() => statements.ask(statement))
  const transaction = async <T>(work: () => T) => answering(() => inTransaction(database, work))
  return {
    dialect: DIALECT,
    ask,
    look: ask,
    change: (...asked) => transaction(() => asked.map((statement) => statements.ask(statement))[0] ?? []),
    make: (work) => transaction(() => statements.run(work())),
    close: async () => void (database.isOpen && answering(() => database.close())),
  }
}
