/** The contract's Directory on PostgreSQL. Each write is one transaction, and all writes come one after the other. */

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
import type { Ask, Row, Statement } from '../../sql/statement.ts'
import { answering } from '../failures.ts'
import { readMark, writeMark } from '../named-values.ts'
import { type PostgresEngine, tableOf } from '../store.ts'
import { encodeText } from '../stored-text.ts'
import * as accounts from './accounts.ts'
import * as keys from './api-keys.ts'
import * as sessions from './sessions.ts'
import { PostgresStandings } from './standings.ts'

/** The number of ended sessions that opening a session deletes: more than are added. */
const SWEPT_AT_ONCE = 10

const FIRST = 'first-admin'

export class PostgresDirectory implements Directory {
  readonly #engine: PostgresEngine
  /** The quoted table of the people. */
  readonly #users: string | undefined
  readonly #standings: PostgresStandings

  constructor(engine: PostgresEngine) {
    this.#engine = engine
    this.#users = engine.tables.get(USERS)?.objects.name
    this.#standings = new PostgresStandings(engine.connections, this.#users)
  }

  standing(subject: string): Promise<Standing> {
    return this.#standings.of(subject)
  }

  sessionStanding(subject: string, session: string): Promise<SessionStanding> {
    return this.#standings.ofSession(subject, session)
  }

  keyStanding(id: string): Promise<KeyStanding | undefined> {
    return this.#standings.ofKey(id)
  }

  person(id: string): Promise<Person | undefined> {
    return this.#person(this.#ask, id)
  }

  async personByEmail(email: string): Promise<Person | undefined> {
    if (!this.#users || !email.isWellFormed()) return undefined
    const [row] = await this.#ask(accounts.personByEmail(this.#users, email))
    return row && accounts.personOf(row)
  }

  async people(): Promise<readonly Person[]> {
    return this.#users ? (await this.#ask(accounts.allPeople(this.#users))).map(accounts.personOf) : []
  }

  addFirst(
    { id, document }: { readonly id: string; readonly document: Document },
    password: NewPassword,
  ): Promise<boolean> {
    const { objects } = tableOf(this.#engine, USERS)
    return this.#write(async (ask, now) => {
      const marked = await ask(readMark(FIRST))
      const [[count] = []] = await ask(objects.count())
      if (marked.length > 0 || Number(count) > 0) return false
      const at = new Date(now).toISOString()
      await ask(objects.insertAll([{ id, version: 1, createdAt: at, updatedAt: at, document }]))
      await ask(accounts.setPassword(id, password, now))
      await ask(writeMark(FIRST, 'made'))
      return true
    })
  }

  setPassword(userId: string, password: NewPassword): Promise<boolean> {
    return this.#write(async (ask, now) => {
      if (!(await this.#person(ask, userId))) return false
      await ask(accounts.setPassword(userId, password, now))
      await ask(sessions.endAllOf(userId))
      return true
    })
  }

  rehash(userId: string, hash: string, better: string): Promise<boolean> {
    return this.#write(async (ask, now) => isOne(await ask(accounts.replaceHash(userId, hash, better, now))))
  }

  async disable(subject: string): Promise<void> {
    await this.#write(async (ask, now) => {
      await ask(accounts.disable(subject, now))
      await ask(sessions.endAllOf(subject))
    })
  }

  async enable(subject: string): Promise<void> {
    await this.#write((ask, now) => ask(accounts.enable(subject, now)))
  }

  openSession(session: NewSession, { hash, next }: VerifiedPassword, record?: string): Promise<boolean> {
    return this.#write(async (ask, now) => {
      const { userId } = session
      const account = (await this.#person(ask, userId))?.account
      if (!account || account.disabled || account.passwordHash !== hash) return false
      if (next !== undefined) {
        await ask(accounts.setPassword(userId, { hash: next, oneTime: false }, now))
        await ask(sessions.endAllOf(userId))
      } else if (account.oneTime) {
        await ask(accounts.setPassword(userId, { hash: null, oneTime: false }, now))
      }
      await ask(sessions.insertSession(session))
      await ask(sessions.sweepSessions(now, SWEPT_AT_ONCE))
      await keep(ask, record)
      return true
    })
  }

  async userOfSession(id: string): Promise<string | undefined> {
    const [row] = await this.#ask(sessions.findSession(id))
    return row && sessions.sessionOf(row).userId
  }

  refreshSession(refresh: Refresh, records?: RefreshRecords): Promise<Refreshed> {
    return this.#write(async (ask, now) => {
      const change = await this.#refresh(ask, refresh, now)
      if (!change) return { kind: 'unknown' }
      await keep(ask, records?.[change.kind])
      return change
    })
  }

  endSession(id: string, record?: string): Promise<boolean> {
    return this.#write(async (ask) => {
      const ended = isOne(await ask(sessions.endSession(id)))
      if (ended) await keep(ask, record)
      return ended
    })
  }

  async addKey(key: NewApiKey): Promise<void> {
    await this.#write((ask) => ask(keys.insertKey(key)))
  }

  async keys(): Promise<readonly ApiKey[]> {
    return (await this.#ask(keys.allKeys())).map(keys.apiKeyOf)
  }

  revokeKey(id: string): Promise<boolean> {
    return this.#write(async (ask, now) => isOne(await ask(keys.revokeKey(id, now))))
  }

  async noteKeyUses(uses: ReadonlyMap<string, number>): Promise<void> {
    if (uses.size > 0) await this.#write((ask) => ask(keys.noteUses(uses)))
  }

  /** Undefined if nothing changes. */
  async #refresh(
    ask: Ask,
    { session: id, presented, next, idleEndsAt }: Refresh,
    now: number,
  ): Promise<RefreshChange | undefined> {
    const [row] = await ask(sessions.findSession(id))
    const found = row && sessions.sessionOf(row)
    if (!found || found.refresh.family !== presented.family) return undefined
    const { refresh, ...session } = found
    if (Math.min(session.endsAt, session.idleEndsAt) <= now) return undefined
    if (refresh.current !== presented.current) {
      await ask(sessions.endSession(id))
      return { kind: 'reused', userId: session.userId }
    }
    const person = await this.#person(ask, session.userId)
    if (!person || person.account?.disabled) return undefined
    await ask(sessions.refreshSession(id, next, idleEndsAt))
    return { kind: 'refreshed', session: { ...session, idleEndsAt }, person }
  }

  async #person(ask: Ask, id: string): Promise<Person | undefined> {
    const [row] = this.#users ? await ask(accounts.personById(this.#users, id)) : []
    return row && accounts.personOf(row)
  }

  readonly #ask = (statement: Statement): Promise<readonly Row[]> => this.#engine.connections.slow(statement)

  #write<T>(work: (ask: Ask, now: number) => Promise<T>): Promise<T> {
    const { connections, now } = this.#engine
    return answering(() => connections.writer.transaction((ask) => work(ask, now().getTime())))
  }
}

function isOne(rows: readonly Row[]): boolean {
  return rows.length === 1
}

/** Runs in the transaction of the change. */
async function keep(ask: Ask, record: string | undefined): Promise<void> {
  if (record === undefined) return
  await ask({ text: 'insert into outbox (record) values ($1)', values: [encodeText(record)] })
}
