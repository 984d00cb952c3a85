/** The plan of an object table, and its indexes. */

import type { Resource } from '../../../resources/resource.ts'
import { type IndexKey, planIndexes } from '../../sql/index-plan.ts'
import type { IndexedTable } from '../../sql/indexes.ts'
import { sql } from '../../sql/statement.ts'
import { brokenConstraint } from '../failures.ts'
import { indexedSql } from '../query/fields.ts'
import { nameOf, tableOf } from './names.ts'
import { idConstraint } from './tables.ts'

/** The table of a resource, with its indexes. */
export interface TablePlan {
  readonly resource: string
  readonly table: string
  /** The fields with an index of their only value. */
  readonly indexed: readonly string[]
  readonly unique: readonly UniqueField[]
  readonly leading: ReadonlySet<string>
  readonly orders: readonly (readonly IndexKey[])[]
}

interface UniqueField {
  readonly field: string
  /** The name of its index, which errors name. */
  readonly index: string
}

export function planTable(resource: Resource, compared: readonly string[]): TablePlan {
  const table = tableOf(resource.name)
  const { values, leading, orders } = planIndexes(resource, compared)
  const unique = values.filter((one) => one.unique)
  return {
    resource: resource.name,
    table,
    indexed: values.map(({ field }) => field),
    unique: unique.map(({ field }) => ({ field, index: nameOf(`${table} ${field} unique`) })),
    leading,
    orders,
  }
}

export function indexesOf({ resource, table, unique, orders }: TablePlan): IndexedTable {
  return {
    resource,
    table,
    unique: unique.map(({ field, index }) => ({ field, name: index, terms: indexedSql({ field, by: 'value' }) })),
    // The id is the last key, so that the index returns objects with the same values in the order of a list.
    ordered: orders.map((keys) => ({
      name: nameOf(`${[table, ...keys.map(({ field, by }) => `${field} ${by}`)].join(' ')} ordered`),
      terms: [...keys.map(indexedSql), 'id'].join(),
    })),
    present: sql(
      `select indexname, indexdef like 'CREATE UNIQUE%' from pg_indexes
        where schemaname = current_schema() and tablename = $1 and indexname <> $2`,
      table,
      idConstraint(table),
    ),
    breaksUnique: (error) => brokenConstraint(error) !== undefined,
  }
}
