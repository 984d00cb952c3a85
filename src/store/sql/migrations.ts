/** The contract's Migrations in the tables of an SQL database. */
import type { StoredObject } from '../../resources/object.ts'
import { LeaseLost, StaleObject, UnfitObject } from '../errors.ts'
import type {
  Batch,
  Changed,
  FittedSchemas,
  Migrations,
  NewMigration,
  PlannedChange,
  StoredMigration,
} from '../migrations.ts'
import { Lease } from './lease.ts'
import {
  deleteAll,
  NotUnique,
  type ObjectVersion,
  objectById,
  objectsAfter,
  type SqlObjects,
  storedObject,
  versionsIn,
} from './objects.ts'
import { addRecords } from './outbox.ts'
import { read, type SqlDialect, type SqlEngine, type Statement, sql, type Work } from './statement.ts'

/** After a crash, the next run waits so long. */
const HOLD_MS = 2000

export function* storedMigrations({ fromStored }: SqlDialect): Work<readonly StoredMigration[]> {
  const columns = 'number, name, digest, begun_at, ended_at, objects, resource, id'
  const rows = yield sql(`select ${columns} from migrations order by number`)
  return rows.map(([number, name, digest, begunAt, endedAt, objects, resource, id]) => ({
    number: Number(number),
    name: String(name),
    digest: String(digest),
    begunAt: String(begunAt),
    endedAt: endedAt === null ? undefined : String(endedAt),
    objects: Number(objects),
    place: resource === null ? undefined : { resource: fromStored(resource), id: fromStored(id) },
  }))
}

export function* fittedSchemas({ fromStored }: SqlDialect): Work<FittedSchemas | undefined> {
  const [row] = yield sql('select digest, schemas from fitted_schemas')
  return row && { digest: String(row[0]), schemas: fromStored(row[1]) }
}

function noteFitted({ text }: SqlDialect, { digest, schemas }: FittedSchemas): Statement {
  return sql(
    `insert into fitted_schemas (one, digest, schemas) values (1, $1, $2)
      on conflict (one) do update set digest = excluded.digest, schemas = excluded.schemas`,
    digest,
    text(schemas),
  )
}

interface MigrationParts {
  readonly engine: SqlEngine
  readonly objectsOf: (resource: string) => SqlObjects
  /**
   * Whether writes wait for the disk from now on. Batches needn't: after a loss of power the last ones may be gone, each
   * as a whole with its records and its place, and the next run does them again.
   */
  readonly waitForDisk: (waits: boolean) => void
}

export class SqlMigrations implements Migrations {
  readonly #parts: MigrationParts
  readonly #lease: Lease

  constructor(parts: MigrationParts) {
    this.#parts = parts
    this.#lease = new Lease(parts.engine, { name: 'migration', holdMs: HOLD_MS })
  }

  stored(): Promise<readonly StoredMigration[]> {
    return read(this.#parts.engine, storedMigrations(this.#parts.engine.dialect))
  }

  fitted(): Promise<FittedSchemas | undefined> {
    return read(this.#parts.engine, fittedSchemas(this.#parts.engine.dialect))
  }

  async noteFitted(fitted: FittedSchemas): Promise<void> {
    await this.#parts.engine.change(noteFitted(this.#parts.engine.dialect, fitted))
  }

  async isEmpty(resources: readonly string[]): Promise<boolean> {
    for (const resource of resources) if ((await this.objects(resource, undefined, 1)).length > 0) return false
    return true
  }

  async objects(resource: string, after: string | undefined, limit: number): Promise<readonly StoredObject[]> {
    const { engine, objectsOf } = this.#parts
    const rows = await engine.ask(objectsAfter(objectsOf(resource).name, after, limit, engine.dialect))
    return rows.map((row) => storedObject(row, engine.dialect))
  }

  hold(holder: string): Promise<boolean> {
    return this.#lease.hold(holder)
  }

  async release(holder: string): Promise<void> {
    this.#parts.waitForDisk(true)
    await this.#lease.release(holder)
  }

  begin(holder: string, migrations: readonly NewMigration[], time: string): Promise<void> {
    const begin = `insert into migrations (number, name, digest, begun_at, objects) values ($1, $2, $3, $4, 0)
      on conflict do nothing`
    return this.#holding(holder, function* () {
      for (const { number, name, digest } of migrations) yield sql(begin, number, name, digest, time)
    })
  }

  async change(batch: Batch): Promise<void> {
    const { engine, objectsOf, waitForDisk } = this.#parts
    const objects = objectsOf(batch.resource)
    waitForDisk(false)
    await this.#holding(batch.holder, () => migrate(objects, batch, engine.dialect))
  }

  end(holder: string, numbers: readonly number[], fitted: FittedSchemas, time: string): Promise<void> {
    const { engine, waitForDisk } = this.#parts
    // Waits for all batches before, too.
    waitForDisk(true)
    return this.#holding(holder, function* () {
      for (const number of numbers) yield sql('update migrations set ended_at = $1 where number = $2', time, number)
      yield noteFitted(engine.dialect, fitted)
    })
  }

  /** In one transaction, which the lease of another process undoes. */
  #holding(holder: string, work: () => Work<void>): Promise<void> {
    const lease = this.#lease
    return this.#parts.engine.write(function* () {
      if (!(yield* lease.isOf(holder))) throw new LeaseLost()
      yield* work()
    })
  }
}

function* migrate(objects: SqlObjects, batch: Batch, dialect: SqlDialect): Work<void> {
  const { resource, after = '', upTo } = batch
  const versions = yield* versionsIn(objects.name, batch, dialect)
  const changed = yield* changesOf(objects, versions, batch, dialect)
  yield* apply(objects, changed, batch, dialect)
  const { records, reached } = batch.end(changed)
  if (records.length > 0) yield addRecords(dialect, records)
  const move = 'update migrations set resource = $1, id = $2, objects = objects + $3 where number = $4'
  const last = upTo ?? versions.at(-1)?.id ?? after
  for (const { number, objects: count } of reached)
    yield sql(move, dialect.text(resource), dialect.text(last), count, number)
}

interface Versioned extends Changed {
  readonly version: number
}

/** What becomes of the objects that are in the range now: those that were written meanwhile are planned again. */
function* changesOf(
  { name }: SqlObjects,
  versions: readonly ObjectVersion[],
  { planned, plan }: Batch,
  dialect: SqlDialect,
): Work<readonly Versioned[]> {
  const read = new Map(planned.map((one) => [one.object.id, one]))
  const changed: Versioned[] = []
  for (const { id, version } of versions) {
    const known = read.get(id)
    const isAsRead = known?.object.version === version
    const [row] = isAsRead ? [] : yield objectById(name, id, dialect)
    const change = isAsRead ? known.change : row ? plan(storedObject(row, dialect)) : KEPT
    if (change.kind !== 'keep') changed.push({ id, version, change })
  }
  return changed
}

const KEPT: PlannedChange = { kind: 'keep' }

function* apply(
  objects: SqlObjects,
  changed: readonly Versioned[],
  { resource, time }: Batch,
  dialect: SqlDialect,
): Work<void> {
  const gone = changed.filter(({ change }) => change.kind === 'delete')
  const rewritten = changed.flatMap(({ id, version, change }) => {
    return change.kind === 'rewrite' ? [{ id, version, document: change.document }] : []
  })
  // Other instances wait for this transaction, but not other programs.
  if (gone.length > 0 && (yield* deleteAll(objects.name, gone, dialect)) !== gone.length) throw new StaleObject()
  try {
    if (rewritten.length > 0) yield* objects.rewriteAll(rewritten, time)
  } catch (error) {
    throw error instanceof NotUnique ? new UnfitObject(resource, error.id, error.message) : error
  }
}
