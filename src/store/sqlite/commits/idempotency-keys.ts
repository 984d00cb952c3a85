/** Idempotency keys and the objects created under them, kept for a day. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { isObject } from '../../../base/is-object.ts'
import type { StoredObject } from '../../../resources/object.ts'
import type { Json } from '../../../resources/resource.ts'
import type { Kept, Replay, ReplayKey } from '../../contract.ts'
import { DamagedObject, ReplayTaken } from '../../errors.ts'
import { parseStored } from '../../parse-stored.ts'

const KEPT_MS = 24 * 60 * 60 * 1000

/** The number of expired keys that each new key deletes: more than one, so that in the end all are deleted. */
const SWEPT_AT_ONCE = 10

const FIND = 'select fingerprint, object from replays where subject = ? and route = ? and key = ? and at > ?'

/** Replaces an expired key of the same name. */
const KEEP = `insert into replays (subject, route, key, fingerprint, object, at) values (?, ?, ?, ?, ?, ?)
  on conflict (subject, route, key) do update
  set fingerprint = excluded.fingerprint, object = excluded.object, at = excluded.at where replays.at <= ?`

const SWEEP = 'delete from replays where rowid in (select rowid from replays where at <= ? order by at limit ?)'

export class SqliteReplays {
  readonly #find: StatementSync
  readonly #keep: StatementSync
  readonly #sweep: StatementSync
  readonly #now: () => Date

  constructor(database: DatabaseSync, now: () => Date) {
    this.#now = now
    this.#find = database.prepare(FIND)
    this.#keep = database.prepare(KEEP)
    this.#sweep = database.prepare(SWEEP)
  }

  find({ subject, route, key }: ReplayKey): Kept | undefined {
    const row = this.#find.get(subject, route, key, this.#forgottenBefore())
    if (!row) return undefined
    const what = () => `the object stored under an idempotency key of \`${subject}\``
    const object = parseStored(String(row.object), what)
    if (!isObject(object.document as Json | undefined)) throw new DamagedObject(what())
    return { fingerprint: String(row.fingerprint), object: object as unknown as StoredObject }
  }

  /** Must run in the transaction of the write. Throws ReplayTaken if the key exists and hasn't expired. */
  keep({ subject, route, key, fingerprint }: Replay, object: StoredObject): void {
    const at = this.#now().getTime()
    const forgotten = this.#forgottenBefore()
    const values = [subject, route, key, fingerprint, JSON.stringify(object), at]
    if (this.#keep.run(...values, forgotten).changes === 0) throw new ReplayTaken()
    this.sweep(SWEPT_AT_ONCE)
  }

  /** Deletes at most this many expired keys. */
  sweep(limit: number): void {
    this.#sweep.run(this.#forgottenBefore(), limit)
  }

  #forgottenBefore(): number {
    return this.#now().getTime() - KEPT_MS
  }
}
