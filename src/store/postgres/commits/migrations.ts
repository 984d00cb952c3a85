/** The contract's Migrations on PostgreSQL. */

import type { StoredObject } from '../../../resources/object.ts'
import { LeaseLost, StaleObject, UnfitObject, UniqueTaken } from '../../errors.ts'
import type {
  Batch,
  Changed,
  FittedSchemas,
  Migrations,
  NewMigration,
  PlannedChange,
  StoredMigration,
} from '../../migrations.ts'
import type { Ask, Row, Statement } from '../../sql/statement.ts'
import type { Connections } from '../connections/connections.ts'
import { answering } from '../failures.ts'
import { encodeText } from '../stored-text.ts'
import { type ObjectTable, storedObject } from '../table.ts'
import { Lease } from './lease.ts'
import { readFitted, readStored } from './migration-state.ts'
import {
  deleteAll,
  type ObjectVersion,
  pageOf,
  type Rewritten,
  rewriteAll,
  versionOf,
  versionsIn,
} from './object-batches.ts'
import { addRecords } from './outbox.ts'

/** After a crash, the next run waits so long. */
const HOLD_MS = 2000

const BEGIN = `insert into migrations (number, name, digest, begun_at, objects) values ($1, $2, $3, $4, 0)
  on conflict do nothing`

const MOVE = 'update migrations set resource = $1, id = $2, objects = objects + $3 where number = $4'

const END = 'update migrations set ended_at = $1 where number = any($2::bigint[])'

interface Parts {
  readonly connections: Connections
  readonly tables: ReadonlyMap<string, { readonly objects: ObjectTable }>
}

export class PostgresMigrations implements Migrations {
  readonly #parts: Parts
  readonly #lease: Lease

  constructor(parts: Parts) {
    this.#parts = parts
    this.#lease = new Lease(parts.connections, { name: 'migration', holdMs: HOLD_MS })
  }

  stored(): Promise<readonly StoredMigration[]> {
    return readStored((asked) => this.#parts.connections.slow(asked))
  }

  fitted(): Promise<FittedSchemas | undefined> {
    return readFitted((asked) => this.#parts.connections.slow(asked))
  }

  async noteFitted(fitted: FittedSchemas): Promise<void> {
    await this.#parts.connections.change(noteFitted(fitted))
  }

  async isEmpty(resources: readonly string[]): Promise<boolean> {
    for (const resource of resources) if ((await this.objects(resource, undefined, 1)).length > 0) return false
    return true
  }

  async objects(resource: string, after: string | undefined, limit: number): Promise<readonly StoredObject[]> {
    const { name } = this.#tableOf(resource)
    return (await this.#parts.connections.slow(pageOf(name, after, limit))).map(storedObject)
  }

  hold(holder: string): Promise<boolean> {
    return this.#lease.hold(holder)
  }

  release(holder: string): Promise<void> {
    return this.#lease.release(holder)
  }

  begin(holder: string, migrations: readonly NewMigration[], time: string): Promise<void> {
    return this.#holding(holder, async (ask) => {
      for (const { number, name, digest } of migrations)
        await ask({ text: BEGIN, values: [number, name, digest, time] })
    })
  }

  async change(batch: Batch): Promise<void> {
    const { resource, upTo, after = '' } = batch
    const table = this.#tableOf(resource)
    await this.#holding(batch.holder, async (ask) => {
      const versions = (await ask(versionsIn(table.name, batch.after, upTo))).map(versionOf)
      const changed = await changesOf(table, versions, batch, ask)
      await apply(table, changed, batch, ask)
      const { records, reached } = batch.end(changed)
      if (records.length > 0) await ask(addRecords(records))
      const last = upTo ?? versions.at(-1)?.id ?? after
      for (const { number, objects } of reached) {
        await ask({ text: MOVE, values: [encodeText(resource), encodeText(last), objects, number] })
      }
    })
  }

  end(holder: string, numbers: readonly number[], fitted: FittedSchemas, time: string): Promise<void> {
    return this.#holding(holder, async (ask) => {
      await ask({ text: END, values: [time, numbers] })
      await ask(noteFitted(fitted))
    })
  }

  /** In one transaction, which the lease of another instance undoes. */
  #holding(holder: string, work: (ask: Ask) => Promise<void>): Promise<void> {
    return answering(() =>
      this.#parts.connections.writer.transaction(async (ask) => {
        if (!(await this.#lease.isOf(holder, ask))) throw new LeaseLost()
        await work(ask)
      }),
    )
  }

  #tableOf(resource: string): ObjectTable {
    const table = this.#parts.tables.get(resource)
    if (!table) throw new Error(`the store has no resource \`${resource}\``)
    return table.objects
  }
}

interface Versioned extends Changed {
  readonly version: number
}

/** What becomes of the objects that are in the range now: those that were written meanwhile are planned again. */
async function changesOf(
  table: ObjectTable,
  versions: readonly ObjectVersion[],
  { planned, plan }: Batch,
  ask: Ask,
): Promise<readonly Versioned[]> {
  const read = new Map(planned.map((one) => [one.object.id, one]))
  const changed: Versioned[] = []
  for (const { id, version } of versions) {
    const known = read.get(id)
    const change = known?.object.version === version ? known.change : await planAgain(table, id, plan, ask)
    if (change.kind !== 'keep') changed.push({ id, version, change })
  }
  return changed
}

async function planAgain(table: ObjectTable, id: string, plan: Batch['plan'], ask: Ask): Promise<PlannedChange> {
  const [row] = await ask(table.get(id))
  return row ? plan(storedObject(row)) : { kind: 'keep' }
}

async function apply(
  table: ObjectTable,
  changed: readonly Versioned[],
  { resource, time }: Batch,
  ask: Ask,
): Promise<void> {
  const gone = changed.filter(({ change }) => change.kind === 'delete')
  const rewritten = changed.flatMap(({ id, version, change }) => {
    return change.kind === 'rewrite' ? [{ id, version, document: change.document }] : []
  })
  if (gone.length > 0) await all(gone.length, ask(deleteAll(table.name, gone)))
  if (rewritten.length === 0) return
  await ask({ text: 'savepoint objects', values: [] })
  try {
    await table.writing(() => all(rewritten.length, ask(rewriteAll(table.name, rewritten, time))))
  } catch (error) {
    if (!(error instanceof UniqueTaken)) throw error
    await ask({ text: 'rollback to objects', values: [] })
    throw new UnfitObject(resource, await firstTaken(table, rewritten, time, ask), error.message)
  }
}

/** The object whose value is taken: the statement about all of them doesn't say. Its changes are undone. */
async function firstTaken(table: ObjectTable, objects: readonly Rewritten[], time: string, ask: Ask): Promise<string> {
  for (const object of objects) {
    try {
      await table.writing(() => ask(rewriteAll(table.name, [object], time)))
    } catch (error) {
      if (error instanceof UniqueTaken) return object.id
      throw error
    }
  }
  return ''
}

/** The turn keeps other instances from writing meanwhile, but not other programs. */
async function all(count: number, statement: Promise<readonly Row[]>): Promise<void> {
  if ((await statement).length !== count) throw new StaleObject()
}

function noteFitted({ digest, schemas }: FittedSchemas): Statement {
  const text = `insert into fitted_schemas (one, digest, schemas) values (1, $1, $2)
    on conflict (one) do update set digest = excluded.digest, schemas = excluded.schemas`
  return { text, values: [digest, encodeText(schemas)] }
}
