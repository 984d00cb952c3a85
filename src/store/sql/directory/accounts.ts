/** Statements about the people of the directory: users records, each with its account. */
import type { Document } from '../../../resources/object.ts'
import type { Account, NewPassword, Person } from '../../directory.ts'
import { documentNamed, parseStored } from '../../parse-stored.ts'
import type { SqlDialect } from '../dialect.ts'
import { wellFormed } from '../quote.ts'
import { isTrue, type Row, type Statement, sql } from '../statement.ts'

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
