/** The open sessions. A session that ends is deleted, so that nothing can reopen it. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { NewSession } from '../../directory.ts'

export class SqliteSessions {
  readonly #find: StatementSync
  readonly #insert: StatementSync
  readonly #refresh: StatementSync
  readonly #end: StatementSync
  readonly #endAllOf: StatementSync
  readonly #sweep: StatementSync

  constructor(database: DatabaseSync) {
    this.#find = database.prepare('select * from sessions where id = ?')
    this.#insert = database.prepare('insert into sessions values (?, ?, ?, ?, ?, ?, ?)')
    this.#refresh = database.prepare('update sessions set current = ?, idle_ends_at = ? where id = ?')
    this.#end = database.prepare('delete from sessions where id = ?')
    this.#endAllOf = database.prepare('delete from sessions where user_id = ?')
    this.#sweep = database.prepare(
      `delete from sessions where rowid in
        (select rowid from sessions where min(ends_at, idle_ends_at) <= ? limit ?)`,
    )
  }

  find(id: string): NewSession | undefined {
    const row = id.isWellFormed() ? this.#find.get(id) : undefined
    if (!row) return undefined
    return {
      id,
      userId: String(row.user_id),
      createdAt: Number(row.created_at),
      endsAt: Number(row.ends_at),
      idleEndsAt: Number(row.idle_ends_at),
      refresh: { family: String(row.family), current: String(row.current) },
    }
  }

  insert({ id, userId, createdAt, endsAt, idleEndsAt, refresh: { family, current } }: NewSession): void {
    this.#insert.run(id, userId, createdAt, endsAt, idleEndsAt, family, current)
  }

  refresh(id: string, current: string, idleEndsAt: number): void {
    this.#refresh.run(current, idleEndsAt, id)
  }

  /** False if there is no such session. */
  end(id: string): boolean {
    return id.isWellFormed() && this.#end.run(id).changes === 1
  }

  endAllOf(userId: string): void {
    this.#endAllOf.run(userId)
  }

  /** Deletes at most this many ended sessions. */
  sweep(now: number, limit: number): void {
    this.#sweep.run(now, limit)
  }
}
