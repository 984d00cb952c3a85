/** The indexes of an object table: creates those of its plan, and drops those that would refuse valid objects. */

import type { Resource } from '../../../resources/resource.ts'
import { UnfitDatabase } from '../../errors.ts'
import { type IndexKey, planIndexes } from '../../sql/index-plan.ts'
import { quoteName } from '../../sql/quote.ts'
import type { Ask } from '../../sql/statement.ts'
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

/** Throws UnfitDatabase when a field is declared unique and its stored values aren't. */
export async function migrateIndexes(ask: Ask, plan: TablePlan): Promise<void> {
  const present = await dropOutdated(ask, plan)
  for (const field of plan.unique) if (!present.has(field.index)) await createUnique(ask, plan, field)
  for (const keys of plan.orders) {
    const name = orderedName(plan, keys)
    if (!present.has(name)) await ask({ text: orderedSql(plan, keys, name), values: [] })
  }
}

/**
 * Returns the names of the existing indexes. The name of an index describes it fully. A unique index that isn't planned
 * would refuse objects that are valid now, so it is dropped; any other index stays, because it may serve relations that
 * this opening (by a command, for example) doesn't know.
 */
async function dropOutdated(ask: Ask, { table, unique }: TablePlan): Promise<ReadonlySet<string>> {
  const text = 'select indexname, indexdef from pg_indexes where schemaname = current_schema() and tablename = $1'
  const rows = await ask({ text, values: [table] })
  const planned = new Set([idConstraint(table), ...unique.map(({ index }) => index)])
  for (const [name, definition] of rows.map((row) => row.map(String))) {
    const isUnique = definition?.startsWith('CREATE UNIQUE') ?? false
    if (name !== undefined && isUnique && !planned.has(name)) {
      await ask({ text: `drop index ${quoteName(name)}`, values: [] })
    }
  }
  return new Set(rows.map(([name]) => String(name)))
}

/** The id is the last key, so that the index returns objects with the same values in the order of a list. */
function orderedSql({ table }: TablePlan, keys: readonly IndexKey[], name: string): string {
  return `create index ${quoteName(name)} on ${quoteName(table)} (${keys.map(indexedSql).join(', ')}, id)`
}

async function createUnique(ask: Ask, { resource, table }: TablePlan, { field, index }: UniqueField): Promise<void> {
  const text = `create unique index ${quoteName(index)} on ${quoteName(table)} (${indexedSql({ field, by: 'value' })})`
  try {
    await ask({ text, values: [] })
  } catch (error) {
    if (brokenConstraint(error) === undefined) throw error
    const what = `the field \`${field}\` of \`${resource}\` is declared unique, but stored objects share a value`
    throw new UnfitDatabase(`${what}: give them different values, or remove the declaration`, error)
  }
}

function orderedName({ table }: TablePlan, keys: readonly IndexKey[]): string {
  return nameOf(`${[table, ...keys.map(({ field, by }) => `${field} ${by}`)].join(' ')} ordered`)
}
