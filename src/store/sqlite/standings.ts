/**
 * The current state of a subject, and of its session or key. Every request needs it, so results are kept while nothing
 * in the database changes. Each request asks the database for changes first, so no kept result is out of date.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { LRUCache } from 'lru-cache'
import type { KeyStanding, SessionStanding, Standing } from '../directory.ts'
import { DamagedObject } from '../errors.ts'
import { documentNamed } from '../parse-stored.ts'
import { API_KEY_COLUMNS, apiKeyOf, textsAmong } from '../sql/directory/accounts.ts'
import type { Standings } from '../sql/directory/directory.ts'
import { wellFormed } from '../sql/quote.ts'
import type { Row } from '../sql/statement.ts'
import { answering } from './database.ts'
import { DIALECT } from './dialect.ts'
import type { SharedReads } from './shared-reads.ts'
import type { ObjectTable } from './table.ts'

/**
 * The most results of each kind. Fewer callers than this are active between two changes. With `max` the cache would
 * take the memory of all of them at once, a millisecond of each opening.
 */
const MOST_KEPT = { maxSize: 10_000, sizeCalculation: () => 1 }

export class SqliteStandings implements Standings {
  readonly #reads: SharedReads
  readonly #lookUp: StatementSync
  readonly #lookUpSession: StatementSync
  readonly #lookUpKey: StatementSync
  readonly #subjects = new LRUCache<string, Standing>(MOST_KEPT)
  readonly #sessions = new LRUCache<string, { readonly subject: string; readonly standing: SessionStanding }>(MOST_KEPT)
  readonly #keys = new LRUCache<string, KeyStanding>(MOST_KEPT)
  #state: number | undefined

  constructor(database: DatabaseSync, users: Pick<ObjectTable, 'name'> | undefined, reads: SharedReads) {
    const queries = queriesOf(users)
    this.#reads = reads
    this.#lookUp = prepared(database, queries.subject)
    this.#lookUpSession = prepared(database, queries.session)
    this.#lookUpKey = prepared(database, queries.key)
  }

  standing(subject: string): Standing {
    return answering(() => {
      const keeps = this.#forgetChanged()
      const kept = this.#subjects.get(subject)
      if (kept) return kept
      const found = standingOf(rowOf(this.#lookUp, subject))
      if (keeps) this.#subjects.set(subject, found)
      return found
    })
  }

  sessionStanding(subject: string, session: string): SessionStanding {
    return answering(() => {
      const keeps = this.#forgetChanged()
      const kept = this.#sessions.get(session)
      if (kept?.subject === subject) return kept.standing
      const row = rowOf(this.#lookUpSession, subject, session)
      const standing = { ...standingOf(row), sessionEndsAt: Number(row?.[4] ?? 0) }
      if (keeps) this.#sessions.set(session, { subject, standing })
      return standing
    })
  }

  keyStanding(id: string): KeyStanding | undefined {
    return answering(() => {
      const keeps = this.#forgetChanged()
      const kept = this.#keys.get(id)
      if (kept) return kept
      const row = rowOf(this.#lookUpKey, id)
      const found = row && { ...standingOf(row), key: apiKeyOf(row.slice(4), DIALECT) }
      if (keeps && found) this.#keys.set(id, found)
      return found
    })
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

function prepared(database: DatabaseSync, text: string): StatementSync {
  const statement = database.prepare(text)
  statement.setReturnArrays(true)
  return statement
}

function rowOf(statement: StatementSync, ...texts: readonly string[]): Row | undefined {
  return statement.get(...texts.map(wellFormed)) as unknown as Row | undefined
}

function queriesOf(users: Pick<ObjectTable, 'name'> | undefined) {
  const facts = `a.disabled, a.deleted, ${users ? `u.id, ${ROLES}` : 'null, null'}`
  const joined = (subject: string) => {
    const record = users ? `left join ${users.name} u on u.id = ${subject}` : ''
    return `left join accounts a on a.user_id = ${subject} ${record}`
  }
  const asked = `(select ? as subject) asked ${joined('asked.subject')}`
  const session = 'left join sessions s on s.id = ? and s.user_id = asked.subject'
  const key = API_KEY_COLUMNS.map((column) => `k.${column}`).join()
  return {
    subject: `select ${facts} from ${asked}`,
    session: `select ${facts}, min(s.ends_at, s.idle_ends_at) from ${asked} ${session}`,
    key: `select ${facts}, ${key} from api_keys k ${joined('k.subject')} where k.id = ?`,
  }
}

function standingOf(row: Row | undefined): Standing {
  if (!row) throw new Error('the look-up of a standing returned no row')
  const [disabled, deleted, id, roles] = row
  return {
    roles: id === null ? undefined : rolesOf(String(id), roles),
    disabled: disabled === 1,
    deleted: deleted === 1,
  }
}

/**
 * The field `roles` of the users record `u`; null if that isn't an object. The expression must not look into text that
 * isn't JSON: the whole statement would fail.
 */
const ROLES = `case when json_valid(u.document) then
  case json_type(u.document) when 'object' then coalesce(u.document -> '$.roles', '[]') end end`

/** `id` is that of the users record, whose schema may be any. Throws DamagedObject. */
function rolesOf(id: string, json: Row[number] | undefined): readonly string[] {
  if (typeof json !== 'string') throw new DamagedObject(documentNamed(id))
  return textsAmong(JSON.parse(json))
}
