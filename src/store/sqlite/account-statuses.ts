/**
 * The current state of a subject, and of its session or key. Every request needs it, so results are kept while nothing
 * in the database changes. Each request asks the database for changes first, so no kept result is out of date.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { LRUCache } from 'lru-cache'
import { textsAmong } from '../../resources/object.ts'
import type { AccountStatus, KeyStatus, SessionStatus } from '../directory.ts'
import { DamagedObject } from '../errors.ts'
import { documentNamed } from '../parse-stored.ts'
import { type AccountStatuses, API_KEY_COLUMNS, apiKeyOf } from '../sql/directory.ts'
import type { Row } from '../sql/statement.ts'
import { wellFormed } from '../sql/statement.ts'
import { answering } from './database.ts'
import type { SharedReads } from './shared-reads.ts'
import { DIALECT, prepare } from './statements.ts'
import type { ObjectTable } from './table.ts'

/**
 * Fewer callers than this are active between two changes. With `max` the cache would take the memory of all of them at
 * once, a millisecond of each opening.
 */
const MOST_KEPT = { maxSize: 25_000 }

export class SqliteAccountStatuses implements AccountStatuses {
  readonly #reads: SharedReads
  readonly #lookUp: StatementSync
  readonly #lookUpSession: StatementSync
  readonly #lookUpKey: StatementSync
  readonly #kept = new LRUCache<string, AccountStatus>(MOST_KEPT)
  #state: number | undefined

  constructor(database: DatabaseSync, users: Pick<ObjectTable, 'name'> | undefined, reads: SharedReads) {
    const queries = queriesOf(users)
    this.#reads = reads
    this.#lookUp = prepare(database, queries.subject)
    this.#lookUpSession = prepare(database, queries.session)
    this.#lookUpKey = prepare(database, queries.key)
  }

  accountStatus(subject: string): AccountStatus {
    return this.#find(`subject\0${subject}`, () => accountStatusOf(rowOf(this.#lookUp, subject)))
  }

  sessionStatus(subject: string, session: string): SessionStatus {
    return this.#find(`session${session.length}\0${session}${subject}`, () => {
      const row = rowOf(this.#lookUpSession, subject, session)
      return { ...accountStatusOf(row), sessionEndsAt: Number(row?.[4] ?? 0) }
    })
  }

  keyStatus(id: string): KeyStatus | undefined {
    return this.#find(`key\0${id}`, () => {
      const row = rowOf(this.#lookUpKey, id)
      return row && { ...accountStatusOf(row), key: apiKeyOf(row.slice(4), DIALECT) }
    })
  }

  /** `question`: another one for each kind. The state is read first, so what is kept is at least as new. */
  #find<T extends AccountStatus | undefined>(question: string, find: () => T): T {
    return answering(() => {
      const state = this.#reads.state()
      if (state === undefined || state !== this.#state) this.#kept.clear()
      this.#state = state
      const kept = this.#kept.get(question)
      if (kept) return kept as T
      const found = find()
      if (found && state !== undefined) this.#kept.set(question, found, { size: 1 })
      return found
    })
  }
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

function accountStatusOf(row: Row | undefined): AccountStatus {
  if (!row) throw new Error('the look-up of an account status returned no row')
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
