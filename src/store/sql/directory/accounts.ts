/** Statements about the people of the directory, their sessions, and API keys. */

import type { Document } from '../../../resources/object.ts'
import type { Account, ApiKey, NewApiKey, NewPassword, NewSession, Person } from '../../directory.ts'
import { DamagedObject } from '../../errors.ts'
import { documentNamed, parseStored } from '../../parse-stored.ts'
import { wellFormed } from '../quote.ts'
import { isTrue, type Row, type SqlDialect, type Statement, sql } from '../statement.ts'

/** `users`: the quoted table of the people. Rows for `personOf`. */
export function selectPeople(users: string, rest: string): string {
  return `select u.id, u.document, a.password_hash, a.one_time, a.disabled, a.changed_at
    from ${users} as u left join accounts as a on a.user_id = u.id ${rest}`
}

/** A row of people. Throws DamagedObject. */
export function personOf([key, text, ...account]: Row, { told }: SqlDialect): Person {
  const id = told(key)
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

/** The schema of users may be any. */
export function textsAmong(roles: Document[string] | undefined): readonly string[] {
  return Array.isArray(roles) ? roles.filter((role) => typeof role === 'string') : []
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

export function setPassword({ text }: SqlDialect, userId: string, { hash, oneTime }: Password, now: number): Statement {
  return sql(
    `insert into accounts values ($1, $2, ${oneTime}, false, false, $3) on conflict (user_id) do update set
      password_hash = excluded.password_hash, one_time = excluded.one_time, changed_at = excluded.changed_at`,
    text(userId),
    hash,
    now,
  )
}

/** Rows: one, if the hash was the stored one. */
export function replaceHash(
  { sought }: SqlDialect,
  userId: string,
  hash: string,
  better: string,
  now: number,
): Statement {
  const replace = 'update accounts set password_hash = $1, changed_at = $2 where user_id = $3 and password_hash = $4'
  return sql(`${replace} returning 1`, better, now, sought(userId), hash)
}

export function disable({ text }: SqlDialect, subject: string, now: number): Statement {
  return sql(
    `insert into accounts values ($1, null, false, true, false, $2)
      on conflict (user_id) do update set disabled = true, changed_at = excluded.changed_at`,
    text(wellFormed(subject)),
    now,
  )
}

export function enable({ text }: SqlDialect, subject: string, now: number): Statement {
  const change = 'update accounts set disabled = false, deleted = false, changed_at = $1 where user_id = $2'
  return sql(change, now, text(wellFormed(subject)))
}

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

export function insertKey({ text }: SqlDialect, key: NewApiKey): Statement {
  const { id, secretHash, subject, roles, name, createdAt, expiresAt } = key
  const texts = [text(id), secretHash, text(wellFormed(subject)), JSON.stringify(roles), text(name)]
  return sql('insert into api_keys values ($1, $2, $3, $4, $5, $6, $7, null, null)', ...texts, createdAt, expiresAt)
}

/** Oldest first. */
export const ALL_KEYS = sql(`select ${API_KEY_COLUMNS.join()} from api_keys order by created_at, id`)

/** Rows: one, if there is such a key. */
export function revokeKey({ sought }: SqlDialect, id: string, now: number): Statement {
  const revoke = 'update api_keys set revoked_at = coalesce(revoked_at, $1) where id = $2 returning 1'
  return sql(revoke, now, sought(id))
}

export function noteUses({ text, greatest, elements }: SqlDialect, uses: ReadonlyMap<string, number>): Statement {
  const last = `${greatest}(coalesce(last_used_at, 0), cast(u.value ->> 1 as bigint))`
  return sql(
    `update api_keys as k set last_used_at = ${last} from ${elements('$1')} as u where k.id = u.value ->> 0`,
    JSON.stringify([...uses].map(([id, at]) => [text(id), at])),
  )
}

/** Throws DamagedObject. */
export function apiKeyOf(row: Row, { told }: SqlDialect): ApiKey {
  const [id, secretHash, subject, roles, name, createdAt, expiresAt, revokedAt, lastUsedAt] = row
  return {
    id: told(id),
    secretHash: String(secretHash),
    subject: told(subject),
    roles: rolesOfKey(String(id), String(roles)),
    name: told(name),
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
