/** The open sessions. A session that ends is deleted, so that nothing can reopen it. */

import type { NewSession } from '../../directory.ts'
import type { Row, Statement } from '../../sql/statement.ts'
import { DIALECT } from '../dialect.ts'
import { decodeText, encodeText } from '../stored-text.ts'

const COLUMNS = 'id, user_id, created_at, ends_at, idle_ends_at, family, current'

export function findSession(id: string): Statement {
  return { text: `select ${COLUMNS} from sessions where id = $1`, values: [encodeText(id)] }
}

export function insertSession(session: NewSession): Statement {
  const { id, userId, createdAt, endsAt, idleEndsAt, refresh } = session
  const text = `insert into sessions (${COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7)`
  const values = [encodeText(id), encodeText(userId), createdAt, endsAt, idleEndsAt, refresh.family, refresh.current]
  return { text, values }
}

export function refreshSession(id: string, current: string, idleEndsAt: number): Statement {
  const text = 'update sessions set current = $1, idle_ends_at = $2 where id = $3'
  return { text, values: [current, idleEndsAt, encodeText(id)] }
}

/** Rows: one, if there was such a session. */
export function endSession(id: string): Statement {
  return { text: 'delete from sessions where id = $1 returning 1', values: [encodeText(id)] }
}

export function endAllOf(userId: string): Statement {
  return { text: 'delete from sessions where user_id = $1', values: [encodeText(userId)] }
}

/** Deletes at most this many ended sessions. */
export function sweepSessions(now: number, limit: number): Statement {
  const text = `delete from sessions where id in (
    select id from sessions where least(ends_at, idle_ends_at) <= ${DIALECT.endedBy('$1')} limit $2)`
  return { text, values: [now, limit] }
}

/** A row of `findSession`. */
export function sessionOf(row: Row): NewSession {
  const [id, userId, createdAt, endsAt, idleEndsAt, family, current] = row
  return {
    id: decodeText(String(id)),
    userId: decodeText(String(userId)),
    createdAt: Number(createdAt),
    endsAt: Number(endsAt),
    idleEndsAt: Number(idleEndsAt),
    refresh: { family: String(family), current: String(current) },
  }
}
