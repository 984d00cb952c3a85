/** The engine for many instances: a PostgreSQL database behind the contract of contract.ts. */

import { USERS } from '../../decide/policy.ts'
import type { OpenedStore, OpenOptions, StoreEngine } from '../contract.ts'
import { READ_BOUNDS } from '../lists/read-bounds.ts'
import { SqlCounters } from '../sql/attempts.ts'
import type { TablePlan } from '../sql/indexes.ts'
import type { InstanceDatabase } from '../sql/instances.ts'
import { openedStore, planTables, sweepsAtStart } from '../sql/opened.ts'
import { done, type SqlEngine, sql } from '../sql/statement.ts'
import { PostgresAccountStatuses } from './account-statuses.ts'
import { DEFAULT_SETTINGS, dialerOf } from './connections/client-options.ts'
import { Connections, type StoreConnections } from './connections/connections.ts'
import { fixOfServer } from './connections/fix-of-server.ts'
import { Line } from './connections/line.ts'
import { DIALECT } from './dialect.ts'
import { answering, asOfContract } from './failures.ts'
import { migrate, migrating, queriedTable, refuseOtherLayout } from './layout/migrate.ts'
import { openPostgresReader } from './reader/reader.ts'
import { type PostgresEngine, PostgresStore, tableOf } from './store.ts'
import { tableNameOf } from './stored-text.ts'
import { ObjectTable } from './table.ts'
import { postgresTransactions } from './transactions.ts'

/** The statistics would show only later that a table has become large. */
const LARGE = 1000

interface PostgresOptions extends OpenOptions {
  readonly url: string
}

export const postgres: StoreEngine = {
  open: (url, options) => openPostgres({ ...options, url }),
  openBeside: (url, options) => openPostgresBeside({ ...options, url }),
  openReader: openPostgresReader,
  fixOf: fixOfServer,
  layoutOf: async () => undefined,
  examine: async (url, options) => (await import('./reader/examine.ts')).examinePostgres(url, options),
  openInstances: async (url, kind) => openInstanceLines(url, kind),
}

export function openPostgres(options: PostgresOptions): Promise<OpenedStore> {
  return open(options, async (connections, plans) => {
    const { url, connections: settings = DEFAULT_SETTINGS } = options
    await migrating(url, settings, (ask) => migrate(ask, plans))
    for (const sweep of sweepsAtStart(DIALECT, options.now)) await connections.change(sweep)
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
    const plans = planTables(options, tableNameOf)
    await prepare(connections, plans)
    const tables = new Map<string, { objects: ObjectTable; queried: Awaited<ReturnType<typeof queriedTable>> }>()
    for (const plan of plans) {
      const queried = await queriedTable((asked) => connections.slow(asked), plan)
      tables.set(plan.resource, { objects: new ObjectTable(plan), queried })
    }
    const engineOver = (asked: StoreConnections): PostgresEngine => {
      return { connections: asked, sql: sqlEngine(asked, now), tables, now, bounds }
    }
    const engine = engineOver(connections)
    const transactions = postgresTransactions(engine, (held) => {
      const inside = engineOver(held)
      return { engine: inside, opened: assemble(inside) }
    })
    return { ...assemble(engine), transactions }
  } catch (error) {
    await connections.close()
    throw asOfContract(error)
  }
}

function assemble(engine: PostgresEngine): OpenedStore {
  const { connections, sql: database, tables } = engine
  const users = tables.get(USERS)?.objects
  const store = new PostgresStore(engine)
  const accountStatuses = new PostgresAccountStatuses(connections, users?.name)
  return openedStore({
    engine: database,
    store,
    accountStatuses,
    attempts: new SqlCounters({ ...database, ask: (statement) => connections.quick(statement) }),
    users,
    objectsOf: (resource) => tableOf(engine, resource).objects,
    grown: async ({ name }, count) => {
      if (count >= LARGE) await connections.slow(sql(`analyze ${name}`))
    },
    waitForDisk: () => undefined,
  })
}

function sqlEngine(connections: StoreConnections, now: () => Date): SqlEngine {
  const change = connections.change.bind(connections)
  return {
    dialect: DIALECT,
    now,
    ask: (statement) => connections.slow(statement),
    write: (work) => answering(() => connections.writer.transaction((ask) => done(work(), ask))),
    change,
    changeSoon: change,
  }
}

// Where PostgreSQL keeps what instances share beside the store: on connections of its own.

/** It names no statements, so a pooler may stand between. */
const BESIDE = { ...DEFAULT_SETTINGS, pooler: 'transaction' } as const

/** A lost connection must not hold up the next look, or requests with an unknown key, for long. */
const LOOK_SILENCE_MS = 900
/** The texts of a large policy may take so long. */
const SILENCE_MS = 10_000

/** Only versions have long texts: a look doesn't wait behind one, or behind a change that is committed. Throws StoreUnavailable. */
function openInstanceLines(url: string, kind: 'keys' | 'versions'): InstanceDatabase {
  const lineFor = (silenceMs: number) => new Line({ dialer: dialerOf(url, BESIDE), silenceMs })
  const looks = lineFor(LOOK_SILENCE_MS)
  const line = kind === 'keys' ? looks : lineFor(SILENCE_MS)
  return {
    dialect: DIALECT,
    ask: (statement) => answering(() => line.ask(statement)),
    look: (statement) => answering(() => looks.ask(statement)),
    change: (first, ...others) => answering(() => line.change(first, ...others)),
    make: (work) => answering(() => migrating(url, BESIDE, (ask) => done(work(), ask))),
    close: async () => void (await Promise.all([looks.close(), line.close()])),
  }
}
