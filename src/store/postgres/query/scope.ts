/** The table that a condition looks at, and the name that it has there. */
import type { Parameters } from './statement.ts'

export interface QueriedTable {
  /** SQL: a quoted name. */
  readonly source: string
  /** The indexed fields, if no stored object has a list there. */
  readonly scalars: ReadonlySet<string>
  /** The fields that find few objects: those that relations compare, and unique ones. */
  readonly leading: ReadonlySet<string>
}

/** Of a resource. */
export type TableOf = (resource: string) => QueriedTable

export interface Scope {
  readonly table: QueriedTable
  readonly tableOf: TableOf
  /** The number of tables around this one. */
  readonly depth: number
  readonly alias: string
  /** The table with its alias. */
  readonly source: string
  readonly parameters: Parameters
}

export function outermost(table: QueriedTable, tableOf: TableOf, parameters: Parameters): Scope {
  return { table, tableOf, depth: 0, parameters, ...named(table, 0) }
}

/** The table of another resource in a query inside of this scope. */
export function within({ tableOf, depth, parameters }: Scope, resource: string): Scope {
  const table = tableOf(resource)
  return { table, tableOf, depth: depth + 1, parameters, ...named(table, depth + 1) }
}

function named({ source }: QueriedTable, depth: number): Pick<Scope, 'alias' | 'source'> {
  return { alias: `r${depth}`, source: `${source} as r${depth}` }
}
