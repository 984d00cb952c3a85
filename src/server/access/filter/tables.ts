/** Tables of somebody else's database, as a request describes them: which column has which field, and in which form. */

import type { COLUMN_TYPES } from '../../../resources/built-in/filter-schemas.ts'

/** The form in which a column holds a field's value; docs/filters.md describes each. */
export type ColumnType = (typeof COLUMN_TYPES)[number]

/** How a column holds a list: as an array of the database, or as JSON. */
export type ListForm = 'array' | 'json'

export interface MappedColumn {
  readonly name: string
  /** The type of the value, or of each element of a list. */
  readonly type: ColumnType
  readonly list?: ListForm
}

export interface MappedTable {
  /** A name, or a schema and a name. Each is an identifier. */
  readonly name: readonly string[]
  /** By field. Other fields have no column. */
  readonly columns: ReadonlyMap<string, MappedColumn>
}

/** The table of the resource itself, and those of related resources in the same database. */
export interface Mapping {
  readonly table: MappedTable
  readonly related: ReadonlyMap<string, MappedTable>
}

/** The types whose values are texts to the policy: keys of any kind. */
export function isTextual(type: ColumnType): boolean {
  return type === 'text' || type === 'uuid' || type === 'enum' || type === 'bigint'
}
