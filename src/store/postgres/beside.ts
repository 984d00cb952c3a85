/** What commits with a write of an object, as parts of its statement: its record, and its idempotency key. */
import type { StoredObject } from '../../resources/object.ts'
import type { Replay } from '../contract.ts'
import { forgottenAt } from '../sql/idempotency-keys.ts'
import type { Parameters } from './query/statement.ts'
import { encodeText } from './stored-text.ts'

/** A statement that adds a record if the part `changed` of the statement has a row. */
export function recordSql(record: string, changed: string, to: Parameters): string {
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
export function takenSql({ replay: { subject, route, key }, at }: KeptReplay, to: Parameters): string {
  const [bySubject, byRoute, byKey] = [subject, route, key].map((text) => to.bind(encodeText(text)))
  return `exists (select 1 from replays where subject = ${bySubject} and route = ${byRoute} and key = ${byKey}
    and at > ${to.bind(forgottenAt(at))})`
}

/** Keeps the key if `made` has a row; replaces an expired one of the same name. */
export function keepSql({ replay, object, at }: KeptReplay, made: string, to: Parameters): string {
  const texts = [replay.subject, replay.route, replay.key, replay.fingerprint].map(encodeText)
  const values = [...texts, JSON.stringify(object)].map((text) => `${to.bind(text)}::text`)
  return `insert into replays (subject, route, key, fingerprint, object, at)
    select ${values.join()}, ${to.bind(at)}::bigint from ${made} on conflict (subject, route, key) do update
    set fingerprint = excluded.fingerprint, object = excluded.object, at = excluded.at`
}
