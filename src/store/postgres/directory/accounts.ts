/** The people of the directory: users records, each with its account. */

import type { Document } from '../../../resources/object.ts'
import type { Account, NewPassword, Person } from '../../directory.ts'
import { documentNamed, parseStored } from '../../parse-stored.ts'
import type { Row, Statement } from '../../sql/statement.ts'
import { keyOf } from '../layout/keys.ts'
import { keysSql } from '../query/fields.ts'
import { decodeText, encodeId, encodeText } from '../stored-text.ts'
import { rolesOf, rolesSql } from './standings.ts'

const PERSON = `select u.id, ${rolesSql('u')}, u.document, a.password_hash, a.one_time, a.disabled, a.changed_at`

/** Statements about people; `users` is their quoted table. */
export function personById(users: string, id: string): Statement {
  return { text: `${joined(users)} where u.id = $1`, values: [encodeText(id)] }
}

export function personByEmail(users: string, email: string): Statement {
  const text = `${joined(users)} where ${keysSql('email', 'u')} ? $1 order by u.id limit 1`
  return { text, values: [keyOf(email)] }
}

export function allPeople(users: string): Statement {
  return { text: `${joined(users)} order by u.id`, values: [] }
}

function joined(users: string): string {
  return `${PERSON} from ${users} as u left join accounts as a on a.user_id = u.id`
}

export function setPassword(userId: string, { hash, oneTime }: Password, now: number): Statement {
  const text = `insert into accounts values ($1, $2, $3, false, false, $4) on conflict (user_id) do update set
    password_hash = excluded.password_hash, one_time = excluded.one_time, changed_at = excluded.changed_at`
  return { text, values: [encodeText(userId), hash, oneTime, now] }
}

/** `hash`: null if the user can't sign in with a password. */
type Password = Pick<NewPassword, 'oneTime'> & { readonly hash: string | null }

/** Rows: one, if the hash was the stored one. */
export function replaceHash(userId: string, hash: string, better: string, now: number): Statement {
  const text = `update accounts set password_hash = $1, changed_at = $2
    where user_id = $3 and password_hash = $4 returning 1`
  return { text, values: [better, now, encodeText(userId), hash] }
}

export function disable(subject: string, now: number): Statement {
  const text = `insert into accounts values ($1, null, false, true, false, $2)
    on conflict (user_id) do update set disabled = true, changed_at = excluded.changed_at`
  return { text, values: [encodeId(subject), now] }
}

export function enable(subject: string, now: number): Statement {
  const text = 'update accounts set disabled = false, deleted = false, changed_at = $1 where user_id = $2'
  return { text, values: [now, encodeId(subject)] }
}

/** A row of people. Throws DamagedObject. */
export function personOf(row: Row): Person {
  const id = decodeText(String(row[0]))
  const document = parseStored(String(row[2]), () => documentNamed(id))
  return {
    id,
    email: textOf(document, 'email'),
    name: textOf(document, 'displayName'),
    roles: rolesOf(row[1]),
    account: accountOf(row.slice(3)),
  }
}

/** A users record may be older than the schema that requires these fields. */
function textOf(document: Document, field: string): string {
  const value = Object.hasOwn(document, field) ? document[field] : undefined
  return typeof value === 'string' ? value : ''
}

function accountOf([passwordHash, oneTime, disabled, changedAt]: Row): Account | undefined {
  if (changedAt === null) return undefined
  return {
    passwordHash: passwordHash as string | null,
    oneTime: oneTime === true,
    disabled: disabled === true,
    changedAt: Number(changedAt),
  }
}
