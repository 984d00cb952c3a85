/**
 * What a subject, its session or its key is now: one look-up a request, and nothing kept, so that nothing can be out of date. A statement
 * of its own reads what was committed last, by whichever process (https://sqlite.org/isolation.html).
 */
import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite'
import type { KeyStanding, SessionStanding, Standing } from './directory.ts'
import { apiKeyOf } from './sqlite-api-keys.ts'
import type { ObjectTable } from './sqlite-table.ts'

export class SqliteStandings {
  readonly #of: StatementSync
  readonly #ofSession: StatementSync
  readonly #ofKey: StatementSync

  constructor(database: DatabaseSync, users: ObjectTable | undefined) {
    const facts = `a.disabled, a.deleted, ${users ? "u.id as record, u.document -> '$.roles' as user_roles" : 'null as record, null as user_roles'}`
    const joined = (subject: string) =>
      `left join accounts a on a.user_id = ${subject} ${users ? `left join "${users.name}" u on u.id = ${subject}` : ''}`
    this.#of = database.prepare(`select ${facts} from (select ? as subject) ${joined('subject')}`)
    this.#ofSession = database.prepare(
      `select ${facts}, min(s.ends_at, s.idle_ends_at) as session_ends_at from (select ? as subject)
        ${joined('subject')} left join sessions s on s.id = ? and s.user_id = subject`,
    )
    this.#ofKey = database.prepare(`select k.*, ${facts} from api_keys k ${joined('k.subject')} where k.id = ?`)
  }

  of(subject: string): Standing {
    return standingOf(this.#of.get(wellFormed(subject)))
  }

  ofSession(subject: string, session: string): SessionStanding {
    const row = this.#ofSession.get(wellFormed(subject), wellFormed(session))
    return { ...standingOf(row), sessionEndsAt: Number(row?.session_ends_at ?? 0) }
  }

  ofKey(id: string): KeyStanding | undefined {
    const row = this.#ofKey.get(wellFormed(id))
    return row && { ...standingOf(row), key: apiKeyOf(row) }
  }
}

type Row = Record<string, SQLOutputValue>

function standingOf(row: Row | undefined): Standing {
  if (!row) throw new Error('the look-up of a standing gave no row')
  return {
    roles: row.record === null ? undefined : rolesOf(row.user_roles),
    disabled: row.disabled === 1,
    deleted: row.deleted === 1,
  }
}

/** `json`: what the field `roles` of a users record holds, whichever schema it was written by. */
export function rolesOf(json: SQLOutputValue | undefined): readonly string[] {
  const roles: unknown = typeof json === 'string' ? JSON.parse(json) : []
  return Array.isArray(roles) ? roles.filter((role) => typeof role === 'string') : []
}

/** Else it would be bound with U+FFFD in it, and could find another one's row. */
function wellFormed(text: string): string {
  if (!text.isWellFormed()) throw new Error('what a credential names must be well-formed Unicode')
  return text
}
