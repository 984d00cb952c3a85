/** Which fields of a resource an engine indexes, and for which orders of lists. */

import { SERVER_FIELDS } from '../../decide/conditions/condition.ts'
import type { Field, Resource } from '../../resources/resource.ts'
import type { SortKey } from '../contract.ts'
import { togetherName, UnfitDatabase } from '../errors.ts'
import { isTrue, quoteName, type Statement, sql, type Work } from './statement.ts'

export type IndexKey = Pick<SortKey, 'field' | 'by'>

/** The table of a resource, with its indexes. Plain data. */
export interface TablePlan {
  readonly resource: string
  /** Not quoted. */
  readonly table: string
  /** Fields that are compared by their only value; none is the server's. */
  readonly indexed: readonly string[]
  /** In the order of the schema, fields by themselves first. */
  readonly unique: readonly UniqueFields[]
  /** Fields whose instants lists are sorted by. */
  readonly times: readonly string[]
  /** Fields that find related objects: unique fields, and fields that relations compare. */
  readonly driving: ReadonlySet<string>
  /** The keys of each index, in their order; the id follows as the last key. */
  readonly orders: readonly (readonly IndexKey[])[]
  /** How long changes are kept; undefined where they aren't. */
  readonly keepMs: number | undefined
}

/** No two objects have the same values of these fields. */
interface UniqueFields {
  /** The field, or `togetherName` of several. */
  readonly field: string
  readonly fields: readonly string[]
}

/**
 * `byRelations`: further fields to index, those that relations compare. A field that refers to objects finds the
 * referring ones. A list can't be indexed by one value. Throws for a unique field whose values can't be compared.
 */
export function planTable(
  resource: Resource,
  byRelations: readonly string[],
  tableOf: (resource: string) => string,
): TablePlan {
  const compared = [...new Set([...byRelations, ...(resource.references ?? []).map(({ field }) => field)])]
  const wanted = [...resource.fields.values()].filter((field) => {
    return !SERVER_FIELDS.has(field.name) && (field.indexed || field.unique || compared.includes(field.name))
  })
  for (const field of wanted) refuseUniqueStructure(resource, field)
  const values = wanted.filter(isScalar)
  const times = [...resource.fields.values()].filter(({ indexed, time, list }) => indexed && time && !list)
  const alone = values.filter(({ unique }) => unique).map(({ name }) => [name])
  const driving = values.filter(({ name, unique }) => unique || compared.includes(name))
  return {
    resource: resource.name,
    table: tableOf(resource.name),
    indexed: values.map(({ name }) => name),
    unique: [...alone, ...(resource.uniqueTogether ?? [])].map((fields) => ({ field: togetherName(fields), fields })),
    times: times.map(({ name }) => name),
    driving: new Set(driving.map(({ name }) => name)),
    orders: planOrders(values, times, compared),
    keepMs: resource.changes?.keepMs,
  }
}

/**
 * Indexes on each field alone, and on each pair of a field that relations compare and a field that a list can be sorted
 * by: a caller may own many objects, and a page of them must not sort them all.
 */
function planOrders(
  values: readonly Field[],
  times: readonly Field[],
  compared: readonly string[],
): TablePlan['orders'] {
  const byValue = ({ name }: Field): IndexKey => ({ field: name, by: 'value' })
  const byTime = times.map(({ name }): IndexKey => ({ field: name, by: 'time' }))
  const scalars = values.filter(({ unique }) => !unique)
  const sortable = [...scalars.filter(({ indexed, time }) => indexed && !time).map(byValue), ...byTime]
  const owners = values.filter(({ name }) => compared.includes(name)).map(byValue)
  const pairs = owners.flatMap((owner) => {
    return sortable.filter(({ field }) => field !== owner.field).map((key) => [owner, key])
  })
  return [...[...scalars.map(byValue), ...byTime].map((key) => [key]), ...pairs]
}

function refuseUniqueStructure(resource: Resource, field: Field): void {
  if (!field.unique || isScalar(field)) return
  throw new Error(`the field \`${field.name}\` of \`${resource.name}\` can't be unique: its values can't be compared`)
}

function isScalar(field: Field): boolean {
  return !field.list && field.type !== 'other'
}

/** The name of an index describes it fully. */
interface Index {
  readonly name: string
  /** SQL: the terms of the index. */
  readonly terms: string
}

export interface IndexedTable {
  readonly resource: string
  /** Not quoted. */
  readonly table: string
  readonly unique: readonly (Index & { readonly field: string })[]
  readonly ordered: readonly Index[]
  /** Selects the names of the existing indexes, and whether each is unique. */
  readonly present: Statement
  readonly breaksUnique: (error: unknown) => boolean
}

/** Throws UnfitDatabase when a field is declared unique and its stored values aren't. */
export function* migrateIndexes(plan: IndexedTable): Work<void> {
  const { table, unique, ordered, present } = plan
  const planned = new Set(unique.map(({ name }) => name))
  const found = (yield present).map(([name, isUnique]) => ({ name: String(name), isUnique: isTrue(isUnique) }))
  // A unique index that isn't planned would refuse objects that are valid now. Any other index stays: it may serve
  // relations that this opening (by a command, for example) doesn't know.
  for (const { name, isUnique } of found) if (isUnique && !planned.has(name)) yield sql(`drop index ${quoteName(name)}`)
  const missing = <T extends Index>(all: readonly T[]) =>
    all.filter(({ name }) => !found.some((one) => one.name === name))
  const on = ({ name, terms }: Index) => `index ${quoteName(name)} on ${quoteName(table)} (${terms})`
  for (const index of missing(unique)) yield* createUnique(plan, index.field, `create unique ${on(index)}`)
  for (const index of missing(ordered)) yield sql(`create ${on(index)}`)
}

function* createUnique({ resource, breaksUnique }: IndexedTable, field: string, text: string): Work<void> {
  try {
    yield sql(text)
  } catch (error) {
    if (!breaksUnique(error)) throw error
    const what = `\`${field}\` of \`${resource}\` is declared unique, but stored objects share a value`
    throw new UnfitDatabase(`${what}: give them different values, or remove the declaration`, { cause: error })
  }
}
