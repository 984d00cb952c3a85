/** The statements of one resource's objects. A write is one statement, which changes everything or nothing. */

import { isScalar, type StoredObject } from '../../resources/object.ts'
import { UniqueTaken } from '../errors.ts'
import { type ObjectRow, parsedObject } from '../parse-stored.ts'
import { quoteName } from '../sql/quote.ts'
import type { Row, Statement } from '../sql/statement.ts'
import { type KeptReplay, keepSql, takenSql } from './commits/idempotency-keys.ts'
import { recordSql } from './commits/outbox.ts'
import { brokenConstraint } from './failures.ts'
import type { TablePlan } from './layout/indexes.ts'
import { keyOf, keysOf } from './layout/keys.ts'
import { quoteText } from './layout/names.ts'
import { idConstraint } from './layout/tables.ts'
import { ASKED_FOR, askedText, oneRow } from './query/asked-for.ts'
import { keySql } from './query/fields.ts'
import { type Parameters, statement } from './query/statement.ts'
import { decodeText, encodeId, encodeText } from './stored-text.ts'

const COLUMNS = 'id, version, created_at, updated_at, document'

/** What a write does besides its change. */
export interface Beside {
  /** Writes an expression that must hold, or nothing is changed. */
  readonly allowed: (parameters: Parameters) => string
  readonly record: string | undefined
}

/** What became of a create. `taken`: the unique field whose value another object has. */
export interface Created {
  readonly allowed: boolean
  readonly free: boolean
  readonly made: boolean
  readonly taken: string | null
}

export class ObjectTable {
  /** Quoted. */
  readonly name: string
  readonly #plan: TablePlan

  constructor(plan: TablePlan) {
    this.name = quoteName(plan.table)
    this.#plan = plan
  }

  get(id: string): Statement {
    return { text: `select ${COLUMNS} from ${this.name} where id = $1`, values: [encodeText(id)] }
  }

  /** Of many objects: the place of the id among those that are asked for, then the row of `get`. */
  gather(): string {
    const object = oneRow(`select ${COLUMNS} from ${this.name} where id = ${askedText(0)}`)
    return `select asked.nth, o.* from ${ASKED_FOR} cross join ${object} as o`
  }

  count(): Statement {
    return { text: `select count(*) from ${this.name}`, values: [] }
  }

  /** `replay`: the idempotency key that is kept with the object, if it is free. */
  create(object: StoredObject, { allowed, record }: Beside, replay: KeptReplay | undefined): Statement {
    const { id, version, createdAt, updatedAt, document } = object
    const { keys, times } = keysOf(id, document)
    return statement((to) => {
      const values = [
        `${to.bind(encodeId(id))}::text`,
        `${to.bind(version)}::bigint`,
        `${to.bind(createdAt)}::text`,
        `${to.bind(updatedAt)}::text`,
        `${to.bind(JSON.stringify(document))}::text`,
        `${to.bind(keys)}::jsonb`,
        `${to.bind(times)}::jsonb`,
      ]
      const free = replay ? `not ${takenSql(replay, to)}` : 'true'
      const parts = [
        `checked as (select (${allowed(to)}) as allowed, (${free}) as free)`,
        `made as (insert into ${this.name} (${COLUMNS}, keys, times)
          select ${values.join()} from checked where allowed and free on conflict do nothing returning id)`,
        ...(replay ? [`kept as (${keepSql(replay, 'made', to)})`] : []),
        ...(record === undefined ? [] : [`recorded as (${recordSql(record, 'made', to)})`]),
      ]
      const taken = `case when not exists (select 1 from made) then ${this.takenSql(object, to)} end`
      return `with ${parts.join(', ')} select allowed, free, exists (select 1 from made), ${taken} from checked`
    })
  }

  /** Rows: the time of the object's creation, unless the version has changed. */
  update(change: Omit<StoredObject, 'createdAt'>, { allowed, record }: Beside): Statement {
    const { id, version, updatedAt, document } = change
    const { keys, times } = keysOf(id, document)
    return statement((to) => {
      const columns = [
        'version = version + 1',
        `updated_at = ${to.bind(updatedAt)}`,
        `document = ${to.bind(JSON.stringify(document))}`,
        `keys = ${to.bind(keys)}::jsonb`,
        `times = ${to.bind(times)}::jsonb`,
      ]
      return this.#changing(
        `update ${this.name} set ${columns.join()} where ${this.#isVersion(id, version, to)}
        and (${allowed(to)}) returning created_at`,
        { record },
        to,
      )
    })
  }

  /** Rows: one, unless the version has changed. */
  delete(id: string, version: number, { allowed, record }: Beside): Statement {
    return statement((to) => {
      const gone = `delete from ${this.name} where ${this.#isVersion(id, version, to)} and (${allowed(to)})`
      return this.#changing(`${gone} returning created_at`, { record }, to)
    })
  }

  /** Whether the object has this version; undefined for no object. */
  hasVersionSql(id: string, version: number | undefined, to: Parameters): string {
    const object = `exists (select 1 from ${this.name} where id = ${to.bind(encodeText(id))}`
    return version === undefined ? `not ${object})` : `${object} and version = ${to.bind(version)})`
  }

  /** The table as it would be with this object, in place of the stored one with its id. */
  withSql({ id, version, updatedAt, document }: Omit<StoredObject, 'createdAt'>, to: Parameters): string {
    const { keys, times } = keysOf(id, document)
    const [own, time] = [`${to.bind(encodeText(id))}::text`, `${to.bind(updatedAt)}::text`]
    const createdAt = version === 1 ? time : `(select created_at from ${this.name} where id = ${own})`
    return `(select id, created_at, updated_at, keys, times from ${this.name} where id <> ${own}
      union all select ${own}, ${createdAt}, ${time}, ${to.bind(keys)}::jsonb, ${to.bind(times)}::jsonb)`
  }

  /** Inserts all objects or, with an error, none. */
  insertAll(objects: readonly StoredObject[]): Statement {
    const keys = objects.map(({ id, document }) => keysOf(id, document))
    const [{ createdAt = '', updatedAt = '', version = 1 } = {}] = objects
    const text = `insert into ${this.name} (${COLUMNS}, keys, times)
      select o.id, $5::bigint, $6::text, $7::text, o.document, o.keys::jsonb, o.times::jsonb
      from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as o(id, document, keys, times)`
    const columns = [
      objects.map(({ id }) => encodeId(id)),
      objects.map(({ document }) => JSON.stringify(document)),
      keys.map((one) => one.keys),
      keys.map((one) => one.times),
    ]
    return { text, values: [...columns, version, createdAt, updatedAt] }
  }

  /** Runs a write; an error about a unique field becomes UniqueTaken. */
  async writing<T>(write: () => Promise<T>): Promise<T> {
    try {
      return await write()
    } catch (error) {
      const field = this.#fieldOf(brokenConstraint(error))
      throw field === undefined ? error : new UniqueTaken(field)
    }
  }

  #fieldOf(constraint: string | undefined): string | undefined {
    if (constraint === idConstraint(this.#plan.table)) return 'id'
    return this.#plan.unique.find(({ index }) => index === constraint)?.field
  }

  #isVersion(id: string, version: number, to: Parameters): string {
    return `id = ${to.bind(encodeText(id))} and version = ${to.bind(version)}`
  }

  #changing(change: string, { record }: Pick<Beside, 'record'>, to: Parameters): string {
    if (record === undefined) return change
    return `with changed as (${change}), recorded as (${recordSql(record, 'changed', to)}) select * from changed`
  }

  /** The id if it is taken, or the first unique field whose value another object has; otherwise NULL. */
  takenSql({ id, version, document }: Pick<StoredObject, 'id' | 'version' | 'document'>, to: Parameters): string {
    const own = encodeText(id)
    const fields = this.#plan.unique.flatMap(({ field }) => {
      const value = Object.hasOwn(document, field) ? document[field] : undefined
      if (!isScalar(value)) return []
      const isSame = `${keySql(field, 'o')} = ${to.bind(keyOf(value))} and o.id <> ${to.bind(own)}`
      return [`when exists (select 1 from ${this.name} as o where ${isSame}) then ${quoteText(field)}`]
    })
    // A new object has the version 1.
    const sameId =
      version === 1 ? [`when exists (select 1 from ${this.name} where id = ${to.bind(own)}) then 'id'`] : []
    const cases = [...sameId, ...fields]
    return cases.length === 0 ? 'null' : `case ${cases.join(' ')} end`
  }
}

/** A row of `get`. */
export function objectRow(row: Row): ObjectRow {
  const [id, version, createdAt, updatedAt, text] = row as readonly [string, number, string, string, string]
  return { id: decodeText(id), version, createdAt, updatedAt, text }
}

/** Throws DamagedObject. */
export function storedObject(row: Row): StoredObject {
  return parsedObject(objectRow(row))
}

/** A row of `create`'s result. */
export function createdOf(row: Row | undefined): Created {
  const [allowed, free, made, taken] = row as readonly [boolean, boolean, boolean, string | null]
  return { allowed, free, made, taken: taken === null ? null : decodeText(taken) }
}
