/**
 * The current state of a subject, and of its session or key. Every request needs it, so results are kept while nothing
 * in the database changes. Each request asks the database for changes first, so no kept result is out of date.
 */
import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite'
import type { KeyStanding, SessionStanding, Standing } from '../../directory.ts'
import { DamagedObject } from '../../errors.ts'
import { documentNamed } from '../../parse-stored.ts'
import { wellFormed } from '../../sql/quote.ts'
import type { SharedReads } from '../shared-reads.ts'
import type { ObjectTable } from '../table.ts'
import { apiKeyOf } from './api-keys.ts'

/** The most results of each kind. Fewer callers than this are active between two changes. */
const MOST_KEPT = 10_000

export class SqliteStandings {
  readonly #reads: SharedReads
  readonly #lookUp: StatementSync
  readonly #lookUpSession: StatementSync
  readonly #lookUpKey: StatementSync
  readonly #subjects = new Map<string, Standing>()
  readonly #sessions = new Map<string, { readonly subject: string; readonly standing: SessionStanding }>()
  readonly #keys = new Map<string, KeyStanding | undefined>()
  #state: number | undefined

  constructor(database: DatabaseSync, users: Pick<ObjectTable, 'name'> | undefined, reads: SharedReads) {
    const queries = queriesOf(users)
    this.#reads = reads
    this.#lookUp = database.prepare(queries.subject)
    this.#lookUpSession = database.prepare(queries.session)
    this.#lookUpKey = database.prepare(queries.key)
  }

  of(subject: string): Standing {
    const keeps = this.#forgetChanged()
    const kept = this.#subjects.get(subject)
    if (kept) return kept
    const found = standingOf(this.#lookUp.get(wellFormed(subject)))
    if (keeps) keep(this.#subjects, subject, found)
    return found
  }

  ofSession(subject: string, session: string): SessionStanding {
    const keeps = this.#forgetChanged()
    const kept = this.#sessions.get(session)
    if (kept?.subject === subject) return kept.standing
    const row = this.#lookUpSession.get(wellFormed(subject), wellFormed(session))
    const standing = { ...standingOf(row), sessionEndsAt: Number(row?.session_ends_at ?? 0) }
    if (keeps) keep(this.#sessions, session, { subject, standing })
    return standing
  }

  ofKey(id: string): KeyStanding | undefined {
    const keeps = this.#forgetChanged()
    if (this.#keys.has(id)) return this.#keys.get(id)
    const row = this.#lookUpKey.get(wellFormed(id))
    const found = row && { ...standingOf(row), key: apiKeyOf(row) }
    if (keeps) keep(this.#keys, id, found)
    return found
  }

  /** Whether results read from now on may be kept. The state is read first, so the results are at least as new. */
  #forgetChanged(): boolean {
    const state = this.#reads.state()
    if (state === undefined || state !== this.#state)
      for (const kept of [this.#subjects, this.#sessions, this.#keys]) kept.clear()
    this.#state = state
    return state !== undefined
  }
}

function keep<T>(kept: Map<string, T>, name: string, found: T): void {
  if (kept.size >= MOST_KEPT) kept.clear()
  kept.set(name, found)
}

function queriesOf(users: Pick<ObjectTable, 'name'> | undefined) {
  const record = users ? `u.id as record, ${ROLES}` : 'null as record'
  const facts = `a.disabled, a.deleted, ${record}`
  const joined = (subject: string) => {
    const record = users ? `left join "${users.name}" u on u.id = ${subject}` : ''
    return `left join accounts a on a.user_id = ${subject} ${record}`
  }
  const asked = `(select ? as subject) asked ${joined('asked.subject')}`
  const session = 'left join sessions s on s.id = ? and s.user_id = asked.subject'
  return {
    subject: `select ${facts} from ${asked}`,
    session: `select ${facts}, min(s.ends_at, s.idle_ends_at) as session_ends_at from ${asked} ${session}`,
    key: `select k.*, ${facts} from api_keys k ${joined('k.subject')} where k.id = ?`,
  }
}

type Row = Record<string, SQLOutputValue>

function standingOf(row: Row | undefined): Standing {
  if (!row) throw new Error('the look-up of a standing returned no row')
  return {
    roles: row.record === null ? undefined : rolesOf(String(row.record), row),
    disabled: row.disabled === 1,
    deleted: row.deleted === 1,
  }
}

/**
 * The field `roles` of the users record `u`; null if that isn't an object. The expression must not look into text that
 * isn't JSON: the whole statement would fail.
 */
export const ROLES = `case when json_valid(u.document) then
  case json_type(u.document) when 'object' then coalesce(u.document -> '$.roles', '[]') end end as user_roles`

/** Reads a row with ROLES. `id` is that of the users record, whose schema may be any. Throws DamagedObject. */
export function rolesOf(id: string, { user_roles: json }: Row): readonly string[] {
  if (typeof json !== 'string') throw new DamagedObject(documentNamed(id))
  const roles: unknown = JSON.parse(json)
  return Array.isArray(roles) ? roles.filter((role) => typeof role === 'string') : []
}
