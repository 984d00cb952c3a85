/**
 * Creates that wait together, as one statement. It isn't for creates that rest on other objects than their caller's users
 * record or keep an idempotency key, and it doesn't tell why an object wasn't made.
 */

import type { Permit, ReadSet } from '../../decide/permits/permit.ts'
import type { StoredObject } from '../../resources/object.ts'
import type { Row } from '../sql/statement.ts'
import type { Shared } from './connections/sending.ts'
import { keysOf } from './layout/keys.ts'
import { encodeId, encodeText } from './stored-text.ts'

/** Versions begin with 1. */
const NO_RECORD = 0

/** What the statement for one create returns (ObjectTable.create): allowed, free, made, and no unique field is taken. */
const MADE: readonly Row[] = [[true, true, true, null]]

interface WrittenCreate {
  readonly object: StoredObject
  readonly record: string | undefined
}

export class SharedCreates {
  readonly #users: string | undefined
  /** The texts of the statements, by the quoted name of the table. */
  readonly #texts = new Map<string, string>()

  /** `users`: the quoted table of the callers' records; undefined where no schema declares them. */
  constructor(users: string | undefined) {
    this.#users = users
  }

  /** How the object is made with others; undefined if it takes a statement of its own. `table` is quoted. */
  of(table: string, { readSet: { caller, lookups } }: Permit<'create'>, written: WrittenCreate): Shared | undefined {
    // A statement doesn't see the users records that it makes.
    const seesCaller = this.#users !== undefined && this.#users !== table
    if (lookups.length > 0 || (caller && !seesCaller)) return undefined
    const text = this.#texts.getOrInsertComputed(table, () => createTogetherSql(table, this.#users))
    return sharedCreate(text, written, caller)
  }
}

/** Makes the objects that it can, in the order of the list, each with its record. */
function createTogetherSql(table: string, users: string | undefined): string {
  const sameCaller = users ? `(select version from ${users} as u where u.id = asked.caller)` : 'null'
  return `with asked as materialized (select w.texts ->> 0 as id, w.texts ->> 1 as created_at, w.texts ->> 2 as updated_at,
      w.texts ->> 3 as document, w.texts ->> 4 as keys, w.texts ->> 5 as times, w.texts ->> 6 as record,
      w.texts ->> 7 as caller, (w.texts ->> 8)::bigint as caller_version, w.nth
      from jsonb_array_elements($1::jsonb) with ordinality as w(texts, nth)),
    made as (insert into ${table} (id, version, created_at, updated_at, document, keys, times)
      select id, 1, created_at, updated_at, document, keys::jsonb, times::jsonb from asked
      where caller is null or coalesce(${sameCaller}, ${NO_RECORD}) = caller_version
      on conflict do nothing returning id),
    recorded as (insert into outbox (record) select record from asked
      where record is not null and id in (select id from made) order by nth)
    select nth from asked where id not in (select id from made)`
}

function sharedCreate(text: string, { object, record }: WrittenCreate, caller: ReadSet['caller']): Shared {
  const { document, createdAt, updatedAt } = object
  const { keys, times } = keysOf(object.id, document)
  const id = encodeId(object.id)
  const kept = record === undefined ? null : encodeText(record)
  const allowed = caller ? [encodeText(caller.id), caller.version ?? NO_RECORD] : []
  const json = JSON.stringify([id, createdAt, updatedAt, JSON.stringify(document), keys, times, kept, ...allowed])
  return { text, json, id, done: MADE }
}
