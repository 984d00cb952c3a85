/**
 * Texts whose keys have only their beginnings (stored-text.ts): where two keys begin alike, the whole texts decide,
 * which are read out of the documents.
 */
import { SERVER_FIELDS } from '../../../decide/conditions/condition.ts'
import type { SortKey, SortValue } from '../../contract.ts'
import { isLongSql, longKeysOf, withoutHashSql } from '../layout/keys.ts'
import { quoteText } from '../layout/names.ts'
import { columnSql, keySql } from './fields.ts'
import type { Scope } from './scope.ts'

type Ordering = '>' | '>=' | '<' | '<='

/** The field's values can be texts of any length. Instants are short, and the server's columns have whole texts. */
export function canBeLong({ field, by }: Pick<SortKey, 'field' | 'by'>): boolean {
  return by === 'value' && !SERVER_FIELDS.has(field)
}

/** Whether the row is sorted by a long text. */
export function hasLongSql(order: readonly SortKey[], alias: string): string {
  const long = order.filter(canBeLong).map(({ field }) => isLongSql(keySql(field, alias)))
  return `(${long.join(' or ')}) is true`
}

/** What sorts by the beginning, and then by the whole text. */
export function wholeTermsSql(field: string, alias: string): readonly [string, string] {
  const key = keySql(field, alias)
  const isLong = isLongSql(key)
  return [
    `(case when ${isLong} then ${withoutHashSql(key)} else ${key} end)`,
    `(case when ${isLong} then ${wholeTextSql(field, alias)} end)`,
  ]
}

/** The comparison of a field with a long text; undefined for any other value, which keys compare. */
export function comparedWhole(
  field: string,
  operator: Ordering,
  value: SortValue,
  { alias, parameters }: Pick<Scope, 'alias' | 'parameters'>,
): string | undefined {
  const long = longKeysOf(value)
  if (!long) return undefined
  const key = keySql(field, alias)
  const [first, last] = [parameters.bind(long.first), parameters.bind(long.last)]
  const whole = `${wholeTextSql(field, alias)} ${operator} ${parameters.bind(long.whole)}`
  const [near, far] = operator.startsWith('>') ? [`>= ${first}`, `> ${last}`] : [`<= ${last}`, `< ${first}`]
  return `(${key} ${near} and case when ${key} ${far} then true else ${whole} end)`
}

/**
 * The text of a field as `encodeText` encodes it. JSON of PostgreSQL has neither U+0000 nor lone surrogates, so their
 * escapes are replaced; meanwhile U+0002, which no JSON text has as itself, stands for an escaped backslash.
 */
function wholeTextSql(field: string, alias: string): string {
  const backslashes = String.raw`replace(${columnSql('document', alias)}, '\\', U&'\0002')`
  const escapes = String.raw`replace(${backslashes}, '\u0001', '\u0001\u0002')`
  const nulls = String.raw`replace(${escapes}, '\u0000', '\u0001\u0001')`
  const surrogates = String.raw`regexp_replace(${nulls}, '\\u(d[89a-f][0-9a-f]{2})', '\\u0001\\u0003\1', 'g')`
  const document = String.raw`replace(${surrogates}, U&'\0002', '\\')`
  return `((${document}::json ->> ${quoteText(field)}) collate "C")`
}
