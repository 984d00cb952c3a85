/** The indexes of an object table: creates those of its plan, and drops those that would refuse valid objects. */
import { UnfitDatabase } from '../errors.ts'
import { quoteName } from './quote.ts'
import { isTrue, type Statement, sql, type Work } from './statement.ts'

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
    const what = `the field \`${field}\` of \`${resource}\` is declared unique, but stored objects share a value`
    throw new UnfitDatabase(`${what}: give them different values, or remove the declaration`, error)
  }
}
