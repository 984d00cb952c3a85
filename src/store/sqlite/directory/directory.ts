/**
 * The contract's Directory on SQLite. Reads are prepared look-ups that answer at once; each write
 * commits whole or not at all, with those that wait at the same time.
 */

import { USERS } from '../../../decide/policy.ts'
import type { Document } from '../../../resources/object.ts'
import type {
  ApiKey,
  Directory,
  KeyStanding,
  NewApiKey,
  NewPassword,
  NewSession,
  Person,
  Refresh,
  RefreshChange,
  Refreshed,
  RefreshRecords,
  SessionStanding,
  Standing,
  VerifiedPassword,
} from '../../directory.ts'
import { answering } from '../database.ts'
import { type SqliteEngine, tableOf } from '../store.ts'
import { SqliteAccounts } from './accounts.ts'
import { SqliteApiKeys } from './api-keys.ts'
import { SqliteSessions } from './sessions.ts'
import { SqliteStandings } from './standings.ts'

/** The number of ended sessions that opening a session deletes: more than are added. */
const SWEPT_AT_ONCE = 10

const FIRST = 'first-admin'

export class SqliteDirectory implements Directory {
  readonly #engine: SqliteEngine
  readonly #accounts: SqliteAccounts
  readonly #sessions: SqliteSessions
  readonly #keys: SqliteApiKeys
  readonly #standings: SqliteStandings

  constructor(engine: SqliteEngine) {
    const { database, reads, tables } = engine
    const users = tables.get(USERS)
    this.#engine = engine
    this.#accounts = new SqliteAccounts(database, users)
    this.#sessions = new SqliteSessions(database)
    this.#keys = new SqliteApiKeys(database)
    this.#standings = new SqliteStandings(database, users, reads)
  }

  standing(subject: string): Standing {
    return answering(() => this.#standings.of(subject))
  }

  sessionStanding(subject: string, session: string): SessionStanding {
    return answering(() => this.#standings.ofSession(subject, session))
  }

  keyStanding(id: string): KeyStanding | undefined {
    return answering(() => this.#standings.ofKey(id))
  }

  async person(id: string): Promise<Person | undefined> {
    return answering(() => this.#accounts.person(id))
  }

  async personByEmail(email: string): Promise<Person | undefined> {
    return answering(() => this.#accounts.personByEmail(email))
  }

  async people(): Promise<readonly Person[]> {
    return answering(() => this.#accounts.people())
  }

  async addFirst(
    { id, document }: { readonly id: string; readonly document: Document },
    password: NewPassword,
  ): Promise<boolean> {
    const users = tableOf(this.#engine, USERS)
    const { values } = this.#engine
    return this.#write((now) => {
      if (values.mark(FIRST) !== undefined || users.count() > 0) return false
      const at = new Date(now).toISOString()
      users.insert({ id, version: 1, createdAt: at, updatedAt: at, document })
      this.#accounts.setPassword(id, password, now)
      values.setMark(FIRST, 'made')
      return true
    })
  }

  async setPassword(userId: string, password: NewPassword): Promise<boolean> {
    return this.#write((now) => {
      if (!this.#accounts.person(userId)) return false
      this.#accounts.setPassword(userId, password, now)
      this.#sessions.endAllOf(userId)
      return true
    })
  }

  async rehash(userId: string, hash: string, better: string): Promise<boolean> {
    return this.#write((now) => this.#accounts.replaceHash(userId, hash, better, now))
  }

  async disable(subject: string): Promise<void> {
    await this.#write((now) => {
      this.#accounts.disable(subject, now)
      this.#sessions.endAllOf(subject)
    })
  }

  async enable(subject: string): Promise<void> {
    await this.#write((now) => this.#accounts.enable(subject, now))
  }

  async openSession(session: NewSession, { hash, next }: VerifiedPassword, record?: string): Promise<boolean> {
    return this.#write((now) => {
      const { userId } = session
      const account = this.#accounts.person(userId)?.account
      if (!account || account.disabled || account.passwordHash !== hash) return false
      if (next !== undefined) {
        this.#accounts.setPassword(userId, { hash: next, oneTime: false }, now)
        this.#sessions.endAllOf(userId)
      } else if (account.oneTime) this.#accounts.spendPassword(userId, now)
      this.#sessions.insert(session)
      this.#sessions.sweep(now, SWEPT_AT_ONCE)
      this.#keep(record)
      return true
    })
  }

  async userOfSession(id: string): Promise<string | undefined> {
    return answering(() => this.#sessions.find(id)?.userId)
  }

  async refreshSession(refresh: Refresh, records?: RefreshRecords): Promise<Refreshed> {
    return this.#write((now) => {
      const change = this.#refresh(refresh, now)
      if (!change) return { kind: 'unknown' }
      this.#keep(records?.[change.kind])
      return change
    })
  }

  async endSession(id: string, record?: string): Promise<boolean> {
    return this.#write(() => {
      const ended = this.#sessions.end(id)
      if (ended) this.#keep(record)
      return ended
    })
  }

  async addKey(key: NewApiKey): Promise<void> {
    await this.#write(() => this.#keys.insert(key))
  }

  async keys(): Promise<readonly ApiKey[]> {
    return answering(() => this.#keys.all())
  }

  async revokeKey(id: string): Promise<boolean> {
    return this.#write((now) => this.#keys.revoke(id, now))
  }

  async noteKeyUses(uses: ReadonlyMap<string, number>): Promise<void> {
    await this.#write(() => {
      for (const [id, at] of uses) this.#keys.noteUse(id, at)
    })
  }

  /** Undefined if nothing changes. */
  #refresh({ session: id, presented, next, idleEndsAt }: Refresh, now: number): RefreshChange | undefined {
    const found = this.#sessions.find(id)
    if (!found || found.refresh.family !== presented.family) return undefined
    const { refresh, ...session } = found
    if (Math.min(session.endsAt, session.idleEndsAt) <= now) return undefined
    if (refresh.current !== presented.current) {
      this.#sessions.end(id)
      return { kind: 'reused', userId: session.userId }
    }
    const person = this.#accounts.person(session.userId)
    if (!person || person.account?.disabled) return undefined
    this.#sessions.refresh(id, next, idleEndsAt)
    return { kind: 'refreshed', session: { ...session, idleEndsAt }, person }
  }

  #write<T>(work: (now: number) => T): Promise<T> {
    const { commits, now } = this.#engine
    return commits.write(() => answering(() => work(now().getTime())))
  }

  /** Runs in the transaction of the change. */
  #keep(record: string | undefined): void {
    if (record !== undefined) this.#engine.outbox.add(record)
  }
}
