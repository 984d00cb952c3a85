/** The people of the directory: users records, each with its account. */
import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite'
import type { Account, NewPassword, Person } from '../../directory.ts'
import { wellFormed } from '../../sql/quote.ts'
import type { ObjectTable } from '../table.ts'
import { ROLES, rolesOf } from './standings.ts'

/** A users record may be older than the schema that requires these fields. */
const PERSON = `select u.id, ${ROLES}, ${textOf('email')} as email, ${textOf('displayName')} as name,
  a.password_hash, a.one_time, a.disabled, a.changed_at`

export class SqliteAccounts {
  readonly #users: ObjectTable | undefined
  readonly #person: StatementSync | undefined
  readonly #people: StatementSync | undefined
  readonly #setPassword: StatementSync
  readonly #replaceHash: StatementSync
  readonly #disable: StatementSync
  readonly #enable: StatementSync

  /** Without a users resource there are no people. */
  constructor(database: DatabaseSync, users: ObjectTable | undefined) {
    const joined = users && `${PERSON} from "${users.name}" u left join accounts a on a.user_id = u.id`
    this.#users = users
    this.#person = joined === undefined ? undefined : database.prepare(`${joined} where u.id = ?`)
    this.#people = joined === undefined ? undefined : database.prepare(`${joined} order by u.id`)
    this.#setPassword = database.prepare(
      `insert into accounts values (?, ?, ?, 0, 0, ?) on conflict do update set
        password_hash = excluded.password_hash, one_time = excluded.one_time, changed_at = excluded.changed_at`,
    )
    this.#replaceHash = database.prepare(
      'update accounts set password_hash = ?, changed_at = ? where user_id = ? and password_hash = ?',
    )
    this.#disable = database.prepare(
      `insert into accounts values (?, null, 0, 1, 0, ?)
        on conflict do update set disabled = 1, changed_at = excluded.changed_at`,
    )
    this.#enable = database.prepare('update accounts set disabled = 0, deleted = 0, changed_at = ? where user_id = ?')
  }

  person(id: string): Person | undefined {
    // Text that isn't well-formed would be bound with U+FFFD in it, and could match another person.
    const row = id.isWellFormed() ? this.#person?.get(id) : undefined
    return row && personOf(row)
  }

  personByEmail(email: string): Person | undefined {
    const where = { kind: 'holds', field: 'email', values: [email] } as const
    const [found] = email.isWellFormed() ? (this.#users?.lists.list({ where, limit: 1 }) ?? []) : []
    return found && this.person(found.id)
  }

  people(): readonly Person[] {
    return this.#people?.all().map(personOf) ?? []
  }

  setPassword(userId: string, { hash, oneTime }: NewPassword, now: number): void {
    this.#setPassword.run(userId, hash, Number(oneTime), now)
  }

  spendPassword(userId: string, now: number): void {
    this.#setPassword.run(userId, null, 0, now)
  }

  /** False when the hash isn't the stored one. */
  replaceHash(userId: string, hash: string, better: string, now: number): boolean {
    return userId.isWellFormed() && this.#replaceHash.run(better, now, userId, hash).changes === 1
  }

  disable(subject: string, now: number): void {
    this.#disable.run(wellFormed(subject), now)
  }

  enable(subject: string, now: number): void {
    this.#enable.run(now, wellFormed(subject))
  }
}

function personOf(row: Record<string, SQLOutputValue>): Person {
  const { id, email, name } = row
  return {
    id: String(id),
    email: String(email ?? ''),
    name: String(name ?? ''),
    roles: rolesOf(String(id), row),
    account: accountOf(row),
  }
}

function accountOf(row: Record<string, SQLOutputValue>): Account | undefined {
  const { password_hash, one_time, disabled, changed_at } = row
  if (changed_at === null) return undefined
  return {
    passwordHash: password_hash as string | null,
    oneTime: one_time === 1,
    disabled: disabled === 1,
    changedAt: Number(changed_at),
  }
}

function textOf(field: string): string {
  return `case when json_valid(u.document) then u.document ->> '$.${field}' end`
}
