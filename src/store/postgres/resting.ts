/** What a permit rests on, as a condition of its write: the store writes only if all of it is still so. */
import type { RestsOn } from '../../decide/permits/permit.ts'
import { lookupSql } from './query/lookups.ts'
import type { TableOf } from './query/scope.ts'
import type { Parameters } from './query/statement.ts'
import type { ObjectTable } from './table.ts'

interface Tables {
  readonly tableOf: TableOf
  /** The callers' records; undefined where no schema declares them. */
  readonly users: ObjectTable | undefined
}

export function restingSql({ caller, lookups }: RestsOn, { tableOf, users }: Tables, to: Parameters): string {
  const parts = lookups.map(({ lookup, holds }) => `${holds ? '' : 'not '}${lookupSql(lookup, tableOf, to)}`)
  return [...parts, ...(caller ? [sameCaller(caller, users, to)] : [])].join(' and ') || 'true'
}

/** Without users records, every caller is as before. */
function sameCaller(
  { id, version }: NonNullable<RestsOn['caller']>,
  users: ObjectTable | undefined,
  to: Parameters,
): string {
  return users ? users.hasVersionSql(id, version, to) : String(version === undefined)
}
