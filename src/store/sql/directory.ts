/** The contract's Directory in the tables of an SQL database. Each write is one transaction. */
import { USERS } from '../../decide/policy.ts'
import type { AtMost } from '../../decide/role-guarantees.ts'
import { type Document, textsAmong } from '../../resources/object.ts'
import type { Store } from '../contract.ts'
import type {
  Account,
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
} from '../directory.ts'
import { DamagedObject } from '../errors.ts'
import { documentNamed, parseStored } from '../parse-stored.ts'
import { readMark, writeMark } from './named-values.ts'
import type { SqlObjects } from './objects.ts'
import { addRecord } from './outbox.ts'
import { withinBounds } from './people-with-role.ts'
import {
  isTrue,
  type Row,
  read,
  type SqlDialect,
  type SqlEngine,
  type Statement,
  sql,
  type Work,
  wellFormed,
} from './statement.ts'

/** The number of ended sessions that opening a session deletes: more than are added. */
const SWEPT_AT_ONCE = 10

const FIRST = 'first-admin'

/** What every request asks, each engine in its own way. */
export type AccountStatuses = Pick<Directory, 'accountStatus' | 'sessionStatus' | 'keyStatus'>

interface DirectoryParts {
  readonly engine: SqlEngine
  readonly accountStatuses: AccountStatuses
  readonly store: Pick<Store, 'list'>
  /** Undefined where no schema declares them. */
  readonly users: SqlObjects | undefined
}

export class SqlDirectory implements Directory {
  readonly accountStatus: AccountStatuses['accountStatus']
  readonly sessionStatus: AccountStatuses['sessionStatus']
  readonly keyStatus: AccountStatuses['keyStatus']
  readonly #parts: DirectoryParts

  constructor(parts: DirectoryParts) {
    const { accountStatuses: statuses } = parts
    this.#parts = parts
    this.accountStatus = statuses.accountStatus.bind(statuses)
    this.sessionStatus = statuses.sessionStatus.bind(statuses)
    this.keyStatus = statuses.keyStatus.bind(statuses)
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
    const rows = await engine.ask(sql(selectPeople(users.name, 'order by u.id')))
    return rows.map((row) => personOf(row, engine.dialect))
  }

  async addFirst(
    { id, document }: { readonly id: string; readonly document: Document },
    password: NewPassword,
    bounds: readonly AtMost[] = [],
  ): Promise<boolean> {
    const { engine, users } = this.#parts
    if (!users) throw new Error(`the store has no resource \`${USERS}\``)
    const add = function* (now: number): Work<boolean> {
      const isMarked = (yield readMark(FIRST)).length > 0
      if (isMarked || (yield sql(`select 1 from ${users.name} limit 1`)).length > 0) return false
      const at = new Date(now).toISOString()
      yield* users.insertAll([{ id, version: 1, createdAt: at, updatedAt: at, document }])
      yield setPassword(engine.dialect, id, password, now)
      yield writeMark(FIRST, 'made')
      return true
    }
    return this.#write((now) => this.#within(bounds, add(now)))
  }

  setPassword(userId: string, password: NewPassword): Promise<boolean> {
    return this.#write((now) => this.#setPassword(userId, password, now))
  }

  *#setPassword(userId: string, password: NewPassword, now: number): Work<boolean> {
    const { dialect } = this.#parts.engine
    if (!(yield* this.#person(userId))) return false
    yield setPassword(dialect, userId, password, now)
    yield endAllOf(dialect, userId)
    return true
  }

  rehash(userId: string, hash: string, better: string): Promise<boolean> {
    const { dialect } = this.#parts.engine
    const replace = `update accounts set password_hash = $1, changed_at = $2
      where user_id = $3 and password_hash = $4 returning 1`
    return this.#write((now) => hasRow(sql(replace, better, now, dialect.sought(userId), hash)))
  }

  async disable(subject: string): Promise<void> {
    const { dialect } = this.#parts.engine
    await this.#write(function* (now) {
      yield sql(
        `insert into accounts values ($1, null, false, true, false, $2)
          on conflict (user_id) do update set disabled = true, changed_at = excluded.changed_at`,
        dialect.text(wellFormed(subject)),
        now,
      )
      yield endAllOf(dialect, subject)
    })
  }

  async enable(subject: string, bounds: readonly AtMost[] = []): Promise<void> {
    const { dialect } = this.#parts.engine
    const enable = 'update accounts set disabled = false, deleted = false, changed_at = $1 where user_id = $2'
    await this.#write((now) => this.#within(bounds, hasRow(sql(enable, now, dialect.text(wellFormed(subject))))))
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
      yield setPassword(dialect, userId, { hash: next ?? null, oneTime: false }, now)
    if (next !== undefined) yield endAllOf(dialect, userId)
    const { id, createdAt, endsAt, idleEndsAt, refresh } = session
    const values = [
      dialect.text(id),
      dialect.text(userId),
      createdAt,
      endsAt,
      idleEndsAt,
      refresh.family,
      refresh.current,
    ]
    yield sql(`insert into sessions (${SESSION}) values ($1, $2, $3, $4, $5, $6, $7)`, ...values)
    yield sweepSessions(dialect, now, SWEPT_AT_ONCE)
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
    const ended = yield* hasRow(endSession(this.#parts.engine.dialect, id))
    if (ended) yield* this.#keep(record)
    return ended
  }

  async addKey(key: NewApiKey, bounds: readonly AtMost[] = []): Promise<void> {
    const { dialect } = this.#parts.engine
    const { id, secretHash, subject, roles, name, createdAt, expiresAt } = key
    const { text } = dialect
    const texts = [text(id), secretHash, text(wellFormed(subject)), JSON.stringify(roles), text(name)]
    const insert = 'insert into api_keys values ($1, $2, $3, $4, $5, $6, $7, null, null)'
    await this.#write(() => this.#within(bounds, hasRow(sql(insert, ...texts, createdAt, expiresAt))))
  }

  async keys(): Promise<readonly ApiKey[]> {
    return read(this.#parts.engine, apiKeys(this.#parts.engine.dialect))
  }

  revokeKey(id: string): Promise<boolean> {
    const { dialect } = this.#parts.engine
    const revoke = 'update api_keys set revoked_at = coalesce(revoked_at, $1) where id = $2 returning 1'
    return this.#write((now) => hasRow(sql(revoke, now, dialect.sought(id))))
  }

  async noteKeyUses(uses: ReadonlyMap<string, number>): Promise<void> {
    if (uses.size === 0) return
    const { text, greatest, elements } = this.#parts.engine.dialect
    const last = `${greatest}(coalesce(last_used_at, 0), cast(u.value ->> 1 as bigint))`
    const note = `update api_keys as k set last_used_at = ${last} from ${elements('$1')} as u where k.id = u.value ->> 0`
    const used = JSON.stringify([...uses].map(([id, at]) => [text(id), at]))
    await this.#write(() => hasRow(sql(note, used)))
  }

  /** Undefined if nothing changes. */
  *#refresh({ session: id, presented, next, idleEndsAt }: Refresh, now: number): Work<RefreshChange | undefined> {
    const { dialect } = this.#parts.engine
    const found = yield* this.#session(id)
    if (!found || found.refresh.family !== presented.family) return undefined
    const { refresh, ...session } = found
    if (Math.min(session.endsAt, session.idleEndsAt) <= now) return undefined
    if (refresh.current !== presented.current) {
      yield endSession(dialect, id)
      return { kind: 'reused', userId: session.userId }
    }
    const person = yield* this.#person(session.userId)
    if (!person || person.account?.disabled) return undefined
    const replace = 'update sessions set current = $1, idle_ends_at = $2 where id = $3'
    yield sql(replace, next, idleEndsAt, dialect.sought(id))
    return { kind: 'refreshed', session: { ...session, idleEndsAt }, person }
  }

  *#session(id: string): Work<NewSession | undefined> {
    const { dialect } = this.#parts.engine
    const [row] = yield sql(`select ${SESSION} from sessions where id = $1`, dialect.sought(id))
    return row && sessionOf(row, dialect)
  }

  *#person(id: string): Work<Person | undefined> {
    const { engine, users } = this.#parts
    if (!users) return undefined
    const [row] = yield sql(selectPeople(users.name, 'where u.id = $1'), engine.dialect.sought(id))
    return row && personOf(row, engine.dialect)
  }

  /** Runs in the transaction of the change. */
  *#keep(record: string | undefined): Work<void> {
    if (record !== undefined) yield addRecord(this.#parts.engine.dialect, record)
  }

  #within(bounds: readonly AtMost[], change: Work<boolean>): Work<boolean> {
    return withinBounds(bounds, { ...this.#parts.engine, users: this.#parts.users?.name }, change)
  }

  async #write<T>(work: (now: number) => Work<T>): Promise<T> {
    const { engine } = this.#parts
    return engine.write(() => work(engine.now().getTime()))
  }
}

function* hasRow(statement: Statement): Work<boolean> {
  return (yield statement).length > 0
}

// Rows, and statements with several users.

/** `users`: the quoted table of the people. Rows for `personOf`. */
function selectPeople(users: string, rest: string): string {
  return `select u.id, u.document, a.password_hash, a.one_time, a.disabled, a.changed_at
    from ${users} as u left join accounts as a on a.user_id = u.id ${rest}`
}

/** A row of people. Throws DamagedObject. */
function personOf([key, text, ...account]: Row, { fromStored }: SqlDialect): Person {
  const id = fromStored(key)
  const document = parseStored(String(text), () => documentNamed(id))
  const { email, displayName, roles } = { ...document }
  return {
    id,
    // A users record may be older than the schema that requires these fields.
    email: typeof email === 'string' ? email : '',
    name: typeof displayName === 'string' ? displayName : '',
    roles: textsAmong(roles),
    account: accountOf(account),
  }
}

function accountOf([passwordHash, oneTime, disabled, changedAt]: Row): Account | undefined {
  if (changedAt === null) return undefined
  return {
    passwordHash: passwordHash as string | null,
    oneTime: isTrue(oneTime),
    disabled: isTrue(disabled),
    changedAt: Number(changedAt),
  }
}

/** `hash`: null if the user can't sign in with a password. */
type Password = Pick<NewPassword, 'oneTime'> & { readonly hash: string | null }

function setPassword({ text }: SqlDialect, userId: string, { hash, oneTime }: Password, now: number): Statement {
  return sql(
    `insert into accounts values ($1, $2, ${oneTime}, false, false, $3) on conflict (user_id) do update set
      password_hash = excluded.password_hash, one_time = excluded.one_time, changed_at = excluded.changed_at`,
    text(userId),
    hash,
    now,
  )
}

const SESSION = 'id, user_id, created_at, ends_at, idle_ends_at, family, current'

/** Rows: one, if there was such a session. */
function endSession({ sought }: SqlDialect, id: string): Statement {
  return sql('delete from sessions where id = $1 returning 1', sought(id))
}

function endAllOf({ sought }: SqlDialect, userId: string): Statement {
  return sql('delete from sessions where user_id = $1', sought(userId))
}

/** Deletes at most this many ended sessions. */
export function sweepSessions({ least, endedBy }: SqlDialect, now: number, limit: number): Statement {
  const ended = `select id from sessions where ${least}(ends_at, idle_ends_at) <= ${endedBy('$1')} limit $2`
  return sql(`delete from sessions where id in (${ended})`, now, limit)
}

/** A row of SESSION. */
function sessionOf(row: Row, { fromStored }: SqlDialect): NewSession {
  const [id, userId, createdAt, endsAt, idleEndsAt, family, current] = row
  return {
    id: fromStored(id),
    userId: fromStored(userId),
    createdAt: Number(createdAt),
    endsAt: Number(endsAt),
    idleEndsAt: Number(idleEndsAt),
    refresh: { family: String(family), current: String(current) },
  }
}

/** The columns that `apiKeyOf` reads. */
export const API_KEY_COLUMNS = [
  'id',
  'secret_hash',
  'subject',
  'roles',
  'name',
  'created_at',
  'expires_at',
  'revoked_at',
  'last_used_at',
] as const

/** Oldest first. Throws DamagedObject. */
export function* apiKeys(dialect: SqlDialect): Work<readonly ApiKey[]> {
  const rows = yield sql(`select ${API_KEY_COLUMNS.join()} from api_keys order by created_at, id`)
  return rows.map((row) => apiKeyOf(row, dialect))
}

/** Throws DamagedObject. */
export function apiKeyOf(row: Row, { fromStored }: SqlDialect): ApiKey {
  const [id, secretHash, subject, roles, name, createdAt, expiresAt, revokedAt, lastUsedAt] = row
  return {
    id: fromStored(id),
    secretHash: String(secretHash),
    subject: fromStored(subject),
    roles: rolesOfKey(String(id), String(roles)),
    name: fromStored(name),
    createdAt: Number(createdAt),
    expiresAt: Number(expiresAt),
    revokedAt: revokedAt as number | null,
    lastUsedAt: lastUsedAt as number | null,
  }
}

function rolesOfKey(id: string, roles: string): readonly string[] {
  const what = `the API key \`${id}\``
  let parsed: unknown
  try {
    parsed = JSON.parse(roles)
  } catch {
    throw new DamagedObject(what)
  }
  if (Array.isArray(parsed) && parsed.every((role) => typeof role === 'string')) return parsed
  throw new DamagedObject(what)
}
