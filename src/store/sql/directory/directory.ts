/** The contract's Directory in the tables of an SQL database. Each write is one transaction. */
import { USERS } from '../../../decide/policy.ts'
import type { Document } from '../../../resources/object.ts'
import type { Store } from '../../contract.ts'
import type {
  ApiKey,
  Directory,
  NewApiKey,
  NewPassword,
  NewSession,
  Person,
  Refresh,
  RefreshChange,
  Refreshed,
  RefreshRecords,
  VerifiedPassword,
} from '../../directory.ts'
import { readMark, writeMark } from '../named-values.ts'
import type { SqlObjects } from '../objects.ts'
import { addRecord } from '../outbox.ts'
import { read, type SqlEngine, type Statement, sql, type Work } from '../statement.ts'
import * as accounts from './accounts.ts'
import * as keys from './accounts.ts'
import * as sessions from './accounts.ts'

/** The number of ended sessions that opening a session deletes: more than are added. */
const SWEPT_AT_ONCE = 10

const FIRST = 'first-admin'

/** What every request asks, each engine in its own way. */
export type Standings = Pick<Directory, 'standing' | 'sessionStanding' | 'keyStanding'>

interface Parts {
  readonly engine: SqlEngine
  readonly standings: Standings
  readonly store: Pick<Store, 'list'>
  /** Undefined where no schema declares them. */
  readonly users: SqlObjects | undefined
}

export class SqlDirectory implements Directory {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  standing(subject: string) {
    return this.#parts.standings.standing(subject)
  }

  sessionStanding(subject: string, session: string) {
    return this.#parts.standings.sessionStanding(subject, session)
  }

  keyStanding(id: string) {
    return this.#parts.standings.keyStanding(id)
  }

  person(id: string): Promise<Person | undefined> {
    return read(this.#parts.engine, this.#person(id))
  }

  async personByEmail(email: string): Promise<Person | undefined> {
    if (!this.#parts.users || !email.isWellFormed()) return undefined
    const where = { kind: 'holds', field: 'email', values: [email] } as const
    const [found] = await this.#parts.store.list(USERS, { where, limit: 1 })
    return found && this.person(found.id)
  }

  async people(): Promise<readonly Person[]> {
    const { engine, users } = this.#parts
    if (!users) return []
    const rows = await engine.ask(sql(accounts.selectPeople(users.name, 'order by u.id')))
    return rows.map((row) => accounts.personOf(row, engine.dialect))
  }

  async addFirst(
    { id, document }: { readonly id: string; readonly document: Document },
    password: NewPassword,
  ): Promise<boolean> {
    const { engine, users } = this.#parts
    if (!users) throw new Error(`the store has no resource \`${USERS}\``)
    return this.#write(function* (now) {
      const isMarked = (yield readMark(FIRST)).length > 0
      if (isMarked || (yield sql(`select 1 from ${users.name} limit 1`)).length > 0) return false
      const at = new Date(now).toISOString()
      yield* users.insertAll([{ id, version: 1, createdAt: at, updatedAt: at, document }])
      yield accounts.setPassword(engine.dialect, id, password, now)
      yield writeMark(FIRST, 'made')
      return true
    })
  }

  setPassword(userId: string, password: NewPassword): Promise<boolean> {
    return this.#write((now) => this.#setPassword(userId, password, now))
  }

  *#setPassword(userId: string, password: NewPassword, now: number): Work<boolean> {
    const { dialect } = this.#parts.engine
    if (!(yield* this.#person(userId))) return false
    yield accounts.setPassword(dialect, userId, password, now)
    yield sessions.endAllOf(dialect, userId)
    return true
  }

  rehash(userId: string, hash: string, better: string): Promise<boolean> {
    const { dialect } = this.#parts.engine
    return this.#write((now) => hasRow(accounts.replaceHash(dialect, userId, hash, better, now)))
  }

  async disable(subject: string): Promise<void> {
    const { dialect } = this.#parts.engine
    await this.#write(function* (now) {
      yield accounts.disable(dialect, subject, now)
      yield sessions.endAllOf(dialect, subject)
    })
  }

  async enable(subject: string): Promise<void> {
    const { dialect } = this.#parts.engine
    await this.#write(function* (now) {
      yield accounts.enable(dialect, subject, now)
    })
  }

  openSession(session: NewSession, verified: VerifiedPassword, record?: string): Promise<boolean> {
    return this.#write((now) => this.#openSession(session, verified, record, now))
  }

  *#openSession(
    session: NewSession,
    { hash, next }: VerifiedPassword,
    record: string | undefined,
    now: number,
  ): Work<boolean> {
    const { dialect } = this.#parts.engine
    const { userId } = session
    const account = (yield* this.#person(userId))?.account
    if (!account || account.disabled || account.passwordHash !== hash) return false
    if (next !== undefined || account.oneTime)
      yield accounts.setPassword(dialect, userId, { hash: next ?? null, oneTime: false }, now)
    if (next !== undefined) yield sessions.endAllOf(dialect, userId)
    yield sessions.insertSession(dialect, session)
    yield sessions.sweepSessions(dialect, now, SWEPT_AT_ONCE)
    yield* this.#keep(record)
    return true
  }

  async userOfSession(id: string): Promise<string | undefined> {
    return (await read(this.#parts.engine, this.#session(id)))?.userId
  }

  refreshSession(refresh: Refresh, records?: RefreshRecords): Promise<Refreshed> {
    const [found, keep] = [(now: number) => this.#refresh(refresh, now), (record?: string) => this.#keep(record)]
    return this.#write(function* (now): Work<Refreshed> {
      const change = yield* found(now)
      if (!change) return { kind: 'unknown' }
      yield* keep(records?.[change.kind])
      return change
    })
  }

  endSession(id: string, record?: string): Promise<boolean> {
    return this.#write(() => this.#endSession(id, record))
  }

  *#endSession(id: string, record: string | undefined): Work<boolean> {
    const ended = yield* hasRow(sessions.endSession(this.#parts.engine.dialect, id))
    if (ended) yield* this.#keep(record)
    return ended
  }

  async addKey(key: NewApiKey): Promise<void> {
    const { dialect } = this.#parts.engine
    await this.#write(() => hasRow(keys.insertKey(dialect, key)))
  }

  async keys(): Promise<readonly ApiKey[]> {
    const { ask, dialect } = this.#parts.engine
    return (await ask(keys.ALL_KEYS)).map((row) => keys.apiKeyOf(row, dialect))
  }

  revokeKey(id: string): Promise<boolean> {
    return this.#write((now) => hasRow(keys.revokeKey(this.#parts.engine.dialect, id, now)))
  }

  async noteKeyUses(uses: ReadonlyMap<string, number>): Promise<void> {
    if (uses.size > 0) await this.#write(() => hasRow(keys.noteUses(this.#parts.engine.dialect, uses)))
  }

  /** Undefined if nothing changes. */
  *#refresh({ session: id, presented, next, idleEndsAt }: Refresh, now: number): Work<RefreshChange | undefined> {
    const { dialect } = this.#parts.engine
    const found = yield* this.#session(id)
    if (!found || found.refresh.family !== presented.family) return undefined
    const { refresh, ...session } = found
    if (Math.min(session.endsAt, session.idleEndsAt) <= now) return undefined
    if (refresh.current !== presented.current) {
      yield sessions.endSession(dialect, id)
      return { kind: 'reused', userId: session.userId }
    }
    const person = yield* this.#person(session.userId)
    if (!person || person.account?.disabled) return undefined
    yield sessions.refreshSession(dialect, id, next, idleEndsAt)
    return { kind: 'refreshed', session: { ...session, idleEndsAt }, person }
  }

  *#session(id: string): Work<NewSession | undefined> {
    const { dialect } = this.#parts.engine
    const [row] = yield sessions.findSession(dialect, id)
    return row && sessions.sessionOf(row, dialect)
  }

  *#person(id: string): Work<Person | undefined> {
    const { engine, users } = this.#parts
    if (!users) return undefined
    const [row] = yield sql(accounts.selectPeople(users.name, 'where u.id = $1'), engine.dialect.sought(id))
    return row && accounts.personOf(row, engine.dialect)
  }

  /** Runs in the transaction of the change. */
  *#keep(record: string | undefined): Work<void> {
    if (record !== undefined) yield addRecord(this.#parts.engine.dialect, record)
  }

  async #write<T>(work: (now: number) => Work<T>): Promise<T> {
    const { engine } = this.#parts
    return engine.write(() => work(engine.now().getTime()))
  }
}

function* hasRow(statement: Statement): Work<boolean> {
  return (yield statement).length > 0
}
