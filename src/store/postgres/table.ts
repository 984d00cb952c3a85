/** The statements of one resource's objects. A write is one statement, which changes everything or nothing. */

import type { ReadSet } from '../../decide/permits/permit.ts'
import { isScalar, type Scalar, type StoredObject } from '../../resources/object.ts'
import type { Replay } from '../contract.ts'
import { StaleObject, UniqueTaken } from '../errors.ts'
import { forgottenAt } from '../sql/idempotency-keys.ts'
import type { TablePlan } from '../sql/indexes.ts'
import { NotUnique, OBJECT_COLUMNS, type Rewritten, type SqlObjects } from '../sql/objects.ts'
import { quoteName, type Row, type Statement, sql, type Work } from '../sql/statement.ts'
import { brokenConstraint } from './failures.ts'
import { keyOf, keysOf } from './layout/keys.ts'
import { idConstraint, uniqueIndex, WRITE_SETTING } from './layout/tables.ts'
import {
  ASKED_FOR,
  askedText,
  lookupIn,
  oneRow,
  type Parameters,
  type QueriedTableOf,
  statement,
  uniqueKeySql,
  uniqueSql,
} from './query/condition.ts'
import { decodeText, encodeId, encodeText, quoteText } from './stored-text.ts'

/** A statement's values are sent at once. */
const AT_ONCE = 1000

/** What a write does besides its change. */
export interface Beside {
  /** Writes an expression that must hold, or nothing is changed. */
  readonly allowed: (parameters: Parameters) => string
  readonly record: string | undefined
  /** JSON for the trigger that logs changes; undefined where none are kept. */
  readonly write: string | undefined
}

/** What became of a create. `taken`: the unique field whose value another object has. */
export interface CreateResult {
  readonly allowed: boolean
  readonly free: boolean
  readonly made: boolean
  readonly taken: string | null
}

export class ObjectTable implements SqlObjects {
  /** Quoted. */
  readonly name: string
  readonly keepsChanges: boolean
  readonly #plan: TablePlan

  constructor(plan: TablePlan) {
    this.name = quoteName(plan.table)
    this.keepsChanges = plan.keepMs !== undefined
    this.#plan = plan
  }

  /** Of many objects: the place of the id among those that are asked for, then the row of `get`. */
  gather(): string {
    const object = oneRow(`select ${OBJECT_COLUMNS} from ${this.name} where id = ${askedText(0)}`)
    return `select asked.nth, o.* from ${ASKED_FOR} cross join ${object} as o`
  }

  /** `replay`: the idempotency key that is kept with the object, if it is free. */
  create(object: StoredObject, { allowed, record, write }: Beside, replay: KeptReplay | undefined): Statement {
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
        `made as (insert into ${this.name} (${OBJECT_COLUMNS}, keys, times)
          select ${values.join()} from checked where allowed and free on conflict do nothing returning id${tellSql(write, to)})`,
        ...(replay ? [`kept as (${keepSql(replay, 'made', to)})`] : []),
        ...(record === undefined ? [] : [`recorded as (${recordSql(record, 'made', to)})`]),
      ]
      const taken = `case when not exists (select 1 from made) then ${this.takenSql(object, to)} end`
      return `with ${parts.join(', ')} select allowed, free, exists (select 1 from made), ${taken} from checked`
    })
  }

  /** Rows: the time of the object's creation, unless the version has changed. */
  update(change: Omit<StoredObject, 'createdAt'>, { allowed, ...beside }: Beside): Statement {
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
        beside,
        to,
      )
    })
  }

  /** Rows: one, unless the version has changed. */
  delete(id: string, version: number, { allowed, ...beside }: Beside): Statement {
    return statement((to) => {
      const gone = `delete from ${this.name} where ${this.#isVersion(id, version, to)} and (${allowed(to)})`
      return this.#changing(`${gone} returning created_at`, beside, to)
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

  *insertAll(objects: readonly StoredObject[]): Work<void> {
    for (let at = 0; at < objects.length; at += AT_ONCE) {
      const chunk = objects.slice(at, at + AT_ONCE)
      yield* this.#taking(
        sql(
          `insert into ${this.name} (${OBJECT_COLUMNS}, keys, times)
            select o.id, o.version, o.created_at, o.updated_at, o.document, o.keys::jsonb, o.times::jsonb
            from unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
              as o(id, version, created_at, updated_at, document, keys, times)`,
          chunk.map(({ id }) => encodeId(id)),
          chunk.map(({ version }) => version),
          chunk.map(({ createdAt }) => createdAt),
          chunk.map(({ updatedAt }) => updatedAt),
          ...contentsOf(chunk),
        ),
      )
    }
  }

  *rewriteAll(objects: readonly Rewritten[], time: string): Work<void> {
    yield sql('savepoint objects')
    try {
      yield* this.#rewrite(objects, time)
    } catch (error) {
      if (!(error instanceof UniqueTaken)) throw error
      yield sql('rollback to objects')
      throw new NotUnique(yield* this.#firstUnfit(objects, time), error)
    }
  }

  *#rewrite(objects: readonly Rewritten[], time: string): Work<void> {
    const rows = yield* this.#taking(
      sql(
        `update ${this.name} as t set version = t.version + 1, updated_at = $1, document = o.document,
            keys = o.keys::jsonb, times = o.times::jsonb
          from unnest($2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[])
            as o(id, version, document, keys, times)
          where t.id = o.id and t.version = o.version returning 1`,
        time,
        objects.map(({ id }) => encodeText(id)),
        objects.map(({ version }) => version),
        ...contentsOf(objects),
      ),
    )
    if (rows.length !== objects.length) throw new StaleObject()
  }

  /** The object whose value is taken: the statement about all of them doesn't say. Its changes are undone. */
  *#firstUnfit(objects: readonly Rewritten[], time: string): Work<string> {
    for (const object of objects) {
      try {
        yield* this.#rewrite([object], time)
      } catch (error) {
        if (error instanceof UniqueTaken) return object.id
        throw error
      }
    }
    return ''
  }

  *#taking(statement: Statement): Work<readonly Row[]> {
    try {
      return yield statement
    } catch (error) {
      throw this.#asUniqueTaken(error)
    }
  }

  /** Runs a write; an error about a unique field becomes UniqueTaken. */
  async writing<T>(write: () => Promise<T>): Promise<T> {
    try {
      return await write()
    } catch (error) {
      throw this.#asUniqueTaken(error)
    }
  }

  #asUniqueTaken(error: unknown): unknown {
    const field = this.#fieldOf(brokenConstraint(error))
    return field === undefined ? error : new UniqueTaken(field)
  }

  #fieldOf(constraint: string | undefined): string | undefined {
    const { table, unique } = this.#plan
    if (constraint === idConstraint(table)) return 'id'
    return unique.find(({ fields }) => uniqueIndex(table, fields) === constraint)?.field
  }

  #isVersion(id: string, version: number, to: Parameters): string {
    return `id = ${to.bind(encodeText(id))} and version = ${to.bind(version)}`
  }

  #changing(change: string, { record, write }: Omit<Beside, 'allowed'>, to: Parameters): string {
    const told = `${change}${tellSql(write, to)}`
    if (record === undefined) return told
    return `with changed as (${told}), recorded as (${recordSql(record, 'changed', to)}) select * from changed`
  }

  /** The id if it is taken, or the first unique field whose value another object has; otherwise NULL. */
  takenSql({ id, version, document }: Pick<StoredObject, 'id' | 'version' | 'document'>, to: Parameters): string {
    const own = encodeText(id)
    const fields = this.#plan.unique.flatMap(({ field, fields: names }) => {
      const values = names.map((name) => (Object.hasOwn(document, name) ? document[name] : undefined)).filter(isScalar)
      if (values.length < names.length) return []
      const keys = values.map((value) => uniqueKeySql(`${to.bind(keyOf(value as Scalar))}::text`, names))
      const same = uniqueSql(names, 'o.').map((key, at) => `${key} = ${keys[at]}`)
      const isSame = `${same.join(' and ')} and o.id <> ${to.bind(own)}`
      return [`when exists (select 1 from ${this.name} as o where ${isSame}) then ${quoteText(field)}`]
    })
    // A new object has the version 1.
    const sameId =
      version === 1 ? [`when exists (select 1 from ${this.name} where id = ${to.bind(own)}) then 'id'`] : []
    const cases = [...sameId, ...fields]
    return cases.length === 0 ? 'null' : `case ${cases.join(' ')} end`
  }
}

/** The documents, and their keys and times. */
function contentsOf(objects: readonly Pick<StoredObject, 'id' | 'document'>[]) {
  const keys = objects.map(({ id, document }) => keysOf(id, document))
  const texts = objects.map(({ document }) => JSON.stringify(document))
  return [texts, keys.map((one) => one.keys), keys.map((one) => one.times)] as const
}

/** A row of `create`'s result. */
export function createdOf(row: Row | undefined): CreateResult {
  const [allowed, free, made, taken] = row as readonly [boolean, boolean, boolean, string | null]
  return { allowed, free, made, taken: taken === null ? null : decodeText(taken) }
}

/** The end of `returning`, which runs before the trigger that logs the change. */
function tellSql(write: string | undefined, to: Parameters): string {
  return write === undefined ? '' : `, set_config('${WRITE_SETTING}', ${to.bind(write)}::text, true)`
}

/** A statement that adds a record if the part `changed` of the statement has a row. */
function recordSql(record: string, changed: string, to: Parameters): string {
  return `insert into outbox (record) select ${to.bind(encodeText(record))}::text from ${changed}`
}

/** An idempotency key, the object that is created under it, and the time. */
export interface KeptReplay {
  readonly replay: Replay
  readonly object: StoredObject
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** Whether an object was already created under the key, in the last 24 hours. */
function takenSql({ replay: { subject, route, key }, at }: KeptReplay, to: Parameters): string {
  const [bySubject, byRoute, byKey] = [subject, route, key].map((text) => to.bind(encodeText(text)))
  return `exists (select 1 from replays where subject = ${bySubject} and route = ${byRoute} and key = ${byKey}
    and at > ${to.bind(forgottenAt(at))})`
}

/** Keeps the key if `made` has a row; replaces an expired one of the same name. */
function keepSql({ replay, object, at }: KeptReplay, made: string, to: Parameters): string {
  const texts = [replay.subject, replay.route, replay.key, replay.fingerprint].map(encodeText)
  const values = [...texts, JSON.stringify(object)].map((text) => `${to.bind(text)}::text`)
  return `insert into replays (subject, route, key, fingerprint, object, at)
    select ${values.join()}, ${to.bind(at)}::bigint from ${made} on conflict (subject, route, key) do update
    set fingerprint = excluded.fingerprint, object = excluded.object, at = excluded.at`
}

interface TablesOfStore {
  readonly tableOf: QueriedTableOf
  /** The callers' records; undefined where no schema declares them. */
  readonly users: ObjectTable | undefined
}

export function unchangedSql({ caller, lookups }: ReadSet, { tableOf, users }: TablesOfStore, to: Parameters): string {
  const parts = lookups.map(({ lookup, holds }) => `${holds ? '' : 'not '}${lookupIn(lookup, tableOf, to)}`)
  return [...parts, ...(caller ? [sameCaller(caller, users, to)] : [])].join(' and ') || 'true'
}

/** Without users records, every caller is as before. */
function sameCaller(
  { id, version }: NonNullable<ReadSet['caller']>,
  users: ObjectTable | undefined,
  to: Parameters,
): string {
  return users ? users.hasVersionSql(id, version, to) : String(version === undefined)
}
