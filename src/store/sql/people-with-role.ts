/**
 * How many people have a role, counted in the transaction of a write, so that a guarantee holds exactly: writers take
 * turns. People are enabled users records, and the subjects of working API keys that have no record.
 */
import type { AtMost } from '../../decide/role-guarantees.ts'
import { TooManyPeople } from '../errors.ts'
import { type SqlEngine, sql, type Work } from './statement.ts'

/** `users`: the table, quoted; undefined where no schema declares it. */
type PeopleTables = Pick<SqlEngine, 'dialect' | 'now'> & { readonly users: string | undefined }

/**
 * Does the change, which concerns one subject. Throws TooManyPeople if it gives a role to one more than the guarantee
 * allows: then the transaction is to be undone. A count looks at all users records, so most writes count once.
 */
export function* withinBounds<T>(bounds: readonly AtMost[], people: PeopleTables, change: Work<T>): Work<T> {
  const before: number[] = []
  for (const bound of bounds) before.push(yield* peopleWith(bound, people))
  const changed = yield* change
  for (const [at, bound] of bounds.entries()) {
    const had = before[at] ?? 0
    if (had >= bound.people && (yield* peopleWith(bound, people)) > had) throw new TooManyPeople(bound)
  }
  return changed
}

export function* peopleWith({ givers }: Pick<AtMost, 'givers'>, { dialect, users, now }: PeopleTables): Work<number> {
  const { test, value } = dialect.hasRole(givers)
  const isEnabled = 'not exists (select 1 from accounts as a where a.user_id = u.id and a.disabled)'
  const records = users ? yield sql(`select count(*) from ${users} as u where ${test} and ${isEnabled}`, value) : []
  const working = 'select subject, roles from api_keys where revoked_at is null and expires_at > $1'
  const keys = (yield sql(working, now().getTime())).filter(([, roles]) =>
    JSON.parse(String(roles)).some((role: string) => givers.includes(role)),
  )
  const subjects = [...new Set(keys.map(([subject]) => String(subject)))].map((subject) => [subject])
  // The key of a person here gives no role that the record doesn't give.
  const others = users ? `not exists (select 1 from ${users} as u where u.id = k.value ->> 0) and` : ''
  const isOff = 'select 1 from accounts as a where a.user_id = k.value ->> 0 and (a.disabled or a.deleted)'
  const [services] = yield sql(
    `select count(*) from ${dialect.elements('$1')} as k where ${others} not exists (${isOff})`,
    JSON.stringify(subjects),
  )
  return Number(records[0]?.[0] ?? 0) + Number(services?.[0])
}
