/** The SQL of a field: the expressions that indexes hold (layout/indexes.ts), and the elements of lists. */
import type { IndexKey } from '../../sql/index-plan.ts'
import { quoteName } from '../../sql/quote.ts'
import { SERVER_COLUMNS } from '../../sql/server-columns.ts'
import { quoteText } from '../layout/names.ts'

/** The server's fields are texts, and never missing. */
export function serverColumn(field: string, alias: string): string | undefined {
  const column = SERVER_COLUMNS.get(field)
  return column && columnSql(column, alias)
}

/** Without an alias, where only one table is in sight. */
export function columnSql(column: string, alias: string): string {
  return alias === '' ? quoteName(column) : `${alias}.${quoteName(column)}`
}

/** The keys of all values: JSON, or NULL for a field without a value. */
export function keysSql(field: string, alias: string): string {
  return `(${columnSql('keys', alias)} -> ${quoteText(field)})`
}

/** The instants of all values, likewise. */
export function instantsSql(field: string, alias: string): string {
  return `(${columnSql('times', alias)} -> ${quoteText(field)})`
}

/** The key of the only value; of a list, LIST. */
export function keySql(field: string, alias: string): string {
  return `((${keysSql(field, alias)} ->> 0) collate "C")`
}

/** The instant of the only value; NULL for a list. */
export function instantSql(field: string, alias: string): string {
  return `((${instantsSql(field, alias)} ->> 0) collate "C")`
}

/** What a list is sorted by, and an index holds. */
export function sortedSql({ field, by }: IndexKey, alias: string): string {
  return serverColumn(field, alias) ?? (by === 'time' ? instantSql(field, alias) : keySql(field, alias))
}

/** The order of an index: "no value" is the least in the contract, and the server's fields have always one. */
export function indexedSql(key: IndexKey): string {
  return `${sortedSql(key, '')}${SERVER_COLUMNS.has(key.field) ? '' : ' nulls first'}`
}

/** Elements of JSON as a table with the column `k`. */
export function elementsSql(json: string, name: string): string {
  return `jsonb_array_elements_text(${json}) as ${name}(k)`
}
