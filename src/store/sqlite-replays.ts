/** Idempotency keys and what was created under them, for a day. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { type Kysely, sql } from 'kysely'
import { type Kept, type Replay, type ReplayKey, ReplayTaken, type StoredObject } from './contract.ts'
import type { Tables } from './sqlite-schema.ts'

const KEPT_MS = 24 * 60 * 60 * 1000

/** Forgotten with each key that comes: more than come, so that none is left in the end. */
const SWEPT_AT_ONCE = 10

export class SqliteReplays {
  readonly #find: StatementSync
  readonly #keep: StatementSync
  readonly #sweep: StatementSync
  readonly #now: () => Date

  constructor(db: Kysely<Tables>, database: DatabaseSync, now: () => Date) {
    const queries = compile(db)
    this.#now = now
    this.#find = database.prepare(queries.find)
    this.#keep = database.prepare(queries.keep)
    this.#sweep = database.prepare(queries.sweep)
  }

  find({ subject, route, key }: ReplayKey): Kept | undefined {
    const row = this.#find.get(subject, route, key, this.#forgottenBefore())
    return row && { fingerprint: String(row.fingerprint), object: JSON.parse(String(row.object)) as StoredObject }
  }

  /** Belongs into the transaction of the write. Throws ReplayTaken when the key is there already, and isn't forgotten. */
  keep({ subject, route, key, fingerprint }: Replay, object: StoredObject): void {
    const at = this.#now().getTime()
    const forgotten = this.#forgottenBefore()
    const values = [subject, route, key, fingerprint, JSON.stringify(object), at]
    if (this.#keep.run(...values, forgotten).changes === 0) throw new ReplayTaken()
    this.sweep(SWEPT_AT_ONCE)
  }

  /** Deletes at most so many that are forgotten. */
  sweep(limit: number): void {
    this.#sweep.run(this.#forgottenBefore(), limit)
  }

  #forgottenBefore(): number {
    return this.#now().getTime() - KEPT_MS
  }
}

/** As in sqlite-table.ts: each call binds its own values in the order written here. */
function compile(db: Kysely<Tables>) {
  const row = { subject: '', route: '', key: '', fingerprint: '', object: '', at: 0 }
  const keep = db.insertInto('replays').values(row)
  const overForgotten = keep.onConflict((conflict) => {
    const taking = {
      fingerprint: sql<string>`excluded.fingerprint`,
      object: sql<string>`excluded.object`,
      at: sql<number>`excluded.at`,
    }
    return conflict.columns(['subject', 'route', 'key']).doUpdateSet(taking).where('replays.at', '<=', 0)
  })
  const found = db.selectFrom('replays').select(['fingerprint', 'object'])
  const ofKey = found.where('subject', '=', '').where('route', '=', '').where('key', '=', '')
  return {
    find: ofKey.where('at', '>', 0).compile().sql,
    keep: overForgotten.compile().sql,
    sweep: 'delete from replays where rowid in (select rowid from replays where at <= ? order by at limit ?)',
  }
}
