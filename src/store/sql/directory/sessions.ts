/** Statements about the open sessions. A session that ends is deleted, so that nothing can reopen it. */
import type { NewSession } from '../../directory.ts'
import type { SqlDialect } from '../dialect.ts'
import { type Row, type Statement, sql } from '../statement.ts'

const COLUMNS = 'id, user_id, created_at, ends_at, idle_ends_at, family, current'

export function findSession({ sought }: SqlDialect, id: string): Statement {
  return sql(`select ${COLUMNS} from sessions where id = $1`, sought(id))
}

export function insertSession({ text }: SqlDialect, session: NewSession): Statement {
  const { id, userId, createdAt, endsAt, idleEndsAt, refresh } = session
  const values = [text(id), text(userId), createdAt, endsAt, idleEndsAt, refresh.family, refresh.current]
  return sql(`insert into sessions (${COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7)`, ...values)
}

export function refreshSession({ sought }: SqlDialect, id: string, current: string, idleEndsAt: number): Statement {
  return sql('update sessions set current = $1, idle_ends_at = $2 where id = $3', current, idleEndsAt, sought(id))
}

/** Rows: one, if there was such a session. */
export function endSession({ sought }: SqlDialect, id: string): Statement {
  return sql('delete from sessions where id = $1 returning 1', sought(id))
}

export function endAllOf({ sought }: SqlDialect, userId: string): Statement {
  return sql('delete from sessions where user_id = $1', sought(userId))
}

/** Deletes at most this many ended sessions. */
export function sweepSessions({ least, endedBy }: SqlDialect, now: number, limit: number): Statement {
  const ended = `select id from sessions where ${least}(ends_at, idle_ends_at) <= ${endedBy('$1')} limit $2`
  return sql(`delete from sessions where id in (${ended})`, now, limit)
}

/** A row of `findSession`. */
export function sessionOf(row: Row, { told }: SqlDialect): NewSession {
  const [id, userId, createdAt, endsAt, idleEndsAt, family, current] = row
  return {
    id: told(id),
    userId: told(userId),
    createdAt: Number(createdAt),
    endsAt: Number(endsAt),
    idleEndsAt: Number(idleEndsAt),
    refresh: { family: String(family), current: String(current) },
  }
}
