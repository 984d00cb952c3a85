/** Idempotency keys and the objects created under them, kept for a day. */

import { isObject } from '../../../base/is-object.ts'
import type { StoredObject } from '../../../resources/object.ts'
import type { Json } from '../../../resources/resource.ts'
import type { Kept, Replay, ReplayKey } from '../../contract.ts'
import { DamagedObject } from '../../errors.ts'
import { parseStored } from '../../parse-stored.ts'
import type { Row, Statement } from '../../sql/statement.ts'
import { DIALECT } from '../dialect.ts'
import type { Parameters } from '../query/statement.ts'
import { encodeText } from '../stored-text.ts'

const KEPT_MS = 24 * 60 * 60 * 1000

/** An idempotency key, the object that is created under it, and the time. */
export interface KeptReplay {
  readonly replay: Replay
  readonly object: StoredObject
  /** Milliseconds since the epoch. */
  readonly at: number
}

export function findReplay({ subject, route, key }: ReplayKey, now: number): Statement {
  const text = 'select fingerprint, object from replays where subject = $1 and route = $2 and key = $3 and at > $4'
  return { text, values: [encodeText(subject), encodeText(route), encodeText(key), now - KEPT_MS] }
}

/** A row of `findReplay`. Throws DamagedObject. */
export function keptOf(row: Row, subject: string): Kept {
  const what = () => `the object stored under an idempotency key of \`${subject}\``
  const object = parseStored(String(row[1]), what)
  if (!isObject(object.document as Json | undefined)) throw new DamagedObject(what())
  return { fingerprint: String(row[0]), object: object as unknown as StoredObject }
}

/** Whether an object was already created under the key, in the last 24 hours. */
export function takenSql({ replay: { subject, route, key }, at }: KeptReplay, to: Parameters): string {
  const [bySubject, byRoute, byKey] = [subject, route, key].map((text) => to.bind(encodeText(text)))
  return `exists (select 1 from replays where subject = ${bySubject} and route = ${byRoute} and key = ${byKey}
    and at > ${to.bind(at - KEPT_MS)})`
}

/** Keeps the key if `made` has a row; replaces an expired one of the same name. */
export function keepSql({ replay, object, at }: KeptReplay, made: string, to: Parameters): string {
  const texts = [replay.subject, replay.route, replay.key, replay.fingerprint].map(encodeText)
  const values = [...texts, JSON.stringify(object)].map((text) => `${to.bind(text)}::text`)
  return `insert into replays (subject, route, key, fingerprint, object, at)
    select ${values.join()}, ${to.bind(at)}::bigint from ${made} on conflict (subject, route, key) do update
    set fingerprint = excluded.fingerprint, object = excluded.object, at = excluded.at`
}

/** Deletes at most this many expired keys. */
export function sweepReplays(now: number, limit: number): Statement {
  const text = `delete from replays where (subject, route, key) in (
    select subject, route, key from replays where at <= ${DIALECT.endedBy('$1')} - ${KEPT_MS} order by at limit $2)`
  return { text, values: [now, limit] }
}
