/** Idempotency keys and the objects created under them, kept for a day. */
import { isObject } from '../../base/is-object.ts'
import type { StoredObject } from '../../resources/object.ts'
import type { Json } from '../../resources/resource.ts'
import type { Kept, Replay, ReplayKey } from '../contract.ts'
import { DamagedObject, ReplayTaken } from '../errors.ts'
import { parseStored } from '../parse-stored.ts'
import { type Row, type SqlDialect, type Statement, sql, type Work } from './statement.ts'

/** Milliseconds since the epoch: keys that are as old are forgotten. */
export function forgottenAt(now: number): number {
  return now - KEPT_MS
}

const KEPT_MS = 24 * 60 * 60 * 1000

/** The number of expired keys that each new key deletes: more than one, so that in the end all are deleted. */
export const SWEPT_AT_ONCE = 10

export function findReplay({ text }: SqlDialect, { subject, route, key }: ReplayKey, now: number): Statement {
  const find = 'select fingerprint, object from replays where subject = $1 and route = $2 and key = $3 and at > $4'
  return sql(find, text(subject), text(route), text(key), forgottenAt(now))
}

/** A row of `findReplay`. Throws DamagedObject. */
export function keptOf([fingerprint, text]: Row, subject: string): Kept {
  const what = () => `the object stored under an idempotency key of \`${subject}\``
  const object = parseStored(String(text), what)
  if (!isObject(object.document as Json | undefined)) throw new DamagedObject(what())
  return { fingerprint: String(fingerprint), object: object as unknown as StoredObject }
}

/** Deletes at most this many expired keys. */
export function sweepReplays({ endedBy }: SqlDialect, now: number, limit: number): Statement {
  const expired = `select subject, route, key from replays where at <= ${endedBy('$1')} - ${KEPT_MS} order by at limit $2`
  return sql(`delete from replays where (subject, route, key) in (${expired})`, now, limit)
}

/** Replaces an expired key of the same name. Throws ReplayTaken. */
export function* keepReplay(
  dialect: SqlDialect,
  { subject, route, key, fingerprint }: Replay,
  object: StoredObject,
  now: number,
): Work<void> {
  const keep = `insert into replays (subject, route, key, fingerprint, object, at) values ($1, $2, $3, $4, $5, $6)
    on conflict (subject, route, key) do update
    set fingerprint = excluded.fingerprint, object = excluded.object, at = excluded.at where replays.at <= $7
    returning 1`
  const values = [subject, route, key, fingerprint].map(dialect.text)
  const kept = yield sql(keep, ...values, JSON.stringify(object), now, forgottenAt(now))
  if (kept.length === 0) throw new ReplayTaken()
  yield sweepReplays(dialect, now, SWEPT_AT_ONCE)
}
