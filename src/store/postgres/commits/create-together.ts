/**
 * Creates that wait together, as one statement. It isn't for creates that rest on other objects or keep an idempotency
 * key, and it doesn't tell why an object wasn't made.
 */
import type { StoredObject } from '../../../resources/object.ts'
import type { Row } from '../connections/connection.ts'
import type { Shared } from '../connections/sending.ts'
import { keysOf } from '../layout/keys.ts'
import { encodeText, wellFormed } from '../stored-text.ts'

/** What the statement for one create returns (ObjectTable.create): allowed, free, made, and no unique field is taken. */
const MADE: readonly Row[] = [[true, true, true, null]]

/** Makes the objects that it can, in the order of the list, each with its record. `table` is quoted. */
export function createTogetherSql(table: string): string {
  return `with asked as materialized (select w.texts ->> 0 as id, w.texts ->> 1 as created_at, w.texts ->> 2 as updated_at,
      w.texts ->> 3 as document, w.texts ->> 4 as keys, w.texts ->> 5 as times, w.texts ->> 6 as record, w.nth
      from jsonb_array_elements($1::jsonb) with ordinality as w(texts, nth)),
    made as (insert into ${table} (id, version, created_at, updated_at, document, keys, times)
      select id, 1, created_at, updated_at, document, keys::jsonb, times::jsonb from asked
      on conflict do nothing returning id),
    recorded as (insert into outbox (record) select record from asked
      where record is not null and id in (select id from made) order by nth)
    select nth from asked where id not in (select id from made)`
}

/** `text`: of createTogetherSql. */
export function sharedCreate(text: string, object: StoredObject, record: string | undefined): Shared {
  const { document, createdAt, updatedAt } = object
  const { keys, times } = keysOf(object.id, document)
  const id = wellFormed(object.id)
  const kept = record === undefined ? null : encodeText(record)
  const json = JSON.stringify([id, createdAt, updatedAt, JSON.stringify(document), keys, times, kept])
  return { text, json, id, done: MADE }
}
