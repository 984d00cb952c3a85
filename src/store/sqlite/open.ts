/** The embedded engine: one SQLite file (or memory) behind the contract of contract.ts. */
import type { DatabaseSync } from 'node:sqlite'
import type { OpenedStore, OpenOptions, StoreEngine } from '../contract.ts'
import { StoreUnavailable, UnfitDatabase } from '../errors.ts'
import { READ_BOUNDS } from '../lists/read-bounds.ts'
import type { TablePlan } from '../sql/indexes.ts'
import { planTables, sweepsAtStart } from '../sql/opened.ts'
import { answering, openDatabaseFile, renewStatistics } from './database.ts'
import { assemble, openInstanceFile } from './engine.ts'
import { migrate, refuseOtherLayout } from './layout/migrate.ts'
import { tableNameOf } from './layout/schema.ts'
import { layoutOfFile } from './reader/file-beside.ts'
import { fixOfFile } from './reader/fix-of-file.ts'
import { openSqliteReader } from './reader/reader.ts'
import { DIALECT, StatementRunner } from './statements.ts'
import { SqliteTransactions } from './transactions.ts'

interface SqliteOptions extends OpenOptions {
  /** A missing file is created with access only for its owner; its folder must exist. */
  readonly file: string | ':memory:'
}

export const sqlite = {
  open: (file, options) => openSqlite({ ...options, file }),
  openBeside: (file, options) => openSqliteBeside({ ...options, file }),
  openReader: openSqliteReader,
  fixOf: fixOfFile,
  layoutOf: layoutOfFile,
  examine: async (file) => (await import('./reader/examine.ts')).examineSqlite(file),
  openInstances: async (file, _kind, writer) => {
    const here = openInstanceFile(file)
    if (writer !== 'thread' || file === ':memory:') return here
    return (await import('./thread/threaded-store.ts')).changedInThread(here, file)
  },
  copy: async (file: string, folder: string) => (await import('./copies.ts')).copySqlite(file, folder),
  place: async (file: string) => (await import('./copies.ts')).placeSqlite(file),
} satisfies StoreEngine & Record<'copy' | 'place', unknown>

export function openSqlite(options: SqliteOptions): Promise<OpenedStore> {
  return open(options, (database, plans) => {
    migrate(database, plans)
    renewStatistics(database)
    const statements = new StatementRunner(database)
    for (const sweep of sweepsAtStart(DIALECT, options.now)) statements.ask(sweep)
  })
}

export function openSqliteBeside(options: Omit<SqliteOptions, 'indexFields'>): Promise<OpenedStore> {
  return open(options, refuseOtherLayout)
}

type Prepare = (database: DatabaseSync, plans: readonly TablePlan[]) => void

async function open(options: SqliteOptions, prepare: Prepare): Promise<OpenedStore> {
  const { file, now, writer, reads: bounds = READ_BOUNDS } = options
  const plans = planTables(options, tableNameOf)
  const database = answering(() => openDatabaseFile(file))
  try {
    prepare(database, plans)
    const parts = { file, plans, now, bounds }
    const here = assemble(database, parts)
    if (file === ':memory:') return here.opened
    if (writer !== 'thread') {
      const { identity, commits: others } = here.engine
      const transactions = new SqliteTransactions({ ...parts, identity, others })
      return { ...here.opened, transactions }
    }
    // Commands don't load it.
    const { writeInThread } = await import('./thread/threaded-store.ts')
    return writeInThread(here, parts)
  } catch (error) {
    database.close()
    throw error instanceof UnfitDatabase ? error : new StoreUnavailable(error)
  }
}
