/** What both engines put together of an open database: the interfaces that are written once. */
import { storedResources } from '../../resources/stored-resources.ts'
import type { OpenedStore, OpenOptions, Store } from '../contract.ts'
import type { Attempts } from '../directory.ts'
import { SqlChanges } from './changes.ts'
import { SqlDeliveries } from './deliveries.ts'
import { type AccountStatuses, SqlDirectory, sweepSessions } from './directory.ts'
import { sweepReplays } from './idempotency-keys.ts'
import { planTable, type TablePlan } from './indexes.ts'
import { SqlMigrations } from './migrations.ts'
import type { SqlObjects } from './objects.ts'
import { SqlOutbox } from './outbox.ts'
import { SqlSeeding } from './seeding.ts'
import type { SqlDialect, SqlEngine, Statement } from './statement.ts'

interface OpenedParts {
  readonly engine: SqlEngine
  readonly store: Store
  readonly accountStatuses: AccountStatuses
  readonly attempts: Attempts
  /** Undefined where no schema declares them. */
  readonly users: SqlObjects | undefined
  readonly objectsOf: (resource: string) => SqlObjects
  /** Called when so many objects were inserted: statistics would show only later that a table has become large. */
  readonly grown: (objects: SqlObjects, count: number) => unknown
  /** See SqlMigrations. */
  readonly waitForDisk: (waits: boolean) => void
}

export function openedStore(parts: OpenedParts): OpenedStore {
  const { engine, store, attempts } = parts
  const outbox = new SqlOutbox(engine)
  const [directory, seeding, migrations] = [new SqlDirectory(parts), new SqlSeeding(parts), new SqlMigrations(parts)]
  const [changes, deliveries] = [new SqlChanges(engine), new SqlDeliveries(engine)]
  return { store, seeding, outbox, directory, attempts, migrations, changes, deliveries }
}

/** `tableOf`: the name of a resource's table. */
export function planTables(
  { resources, indexFields }: OpenOptions,
  tableOf: (resource: string) => string,
): readonly TablePlan[] {
  return storedResources(resources).map((one) => planTable(one, indexFields?.get(one.name) ?? [], tableOf))
}

/** The most expired idempotency keys, and ended sessions, that opening the database deletes. */
const SWEPT_AT_START = 10_000

export function sweepsAtStart(dialect: SqlDialect, now: () => Date): readonly Statement[] {
  const at = now().getTime()
  return [sweepReplays(dialect, at, SWEPT_AT_START), sweepSessions(dialect, at, SWEPT_AT_START)]
}
