/** The difference between the rows of an answer and a cell's words, in one sentence; undefined if they agree. */
import { isDeepStrictEqual } from 'node:util'
import { namesText } from '../../../present/quote.ts'
import type { Json, Representation, Resource } from '../../../resources/resource.ts'
import { isListed, isOwnRows, type ListedRows, rowsText } from '../read/listed-rows.ts'

/** An object of the cell, and the names of all relations that hold between the caller and it. */
export interface Placed {
  readonly object: Representation
  readonly relations: ReadonlySet<string>
}

interface ListSetup {
  readonly placed: readonly Placed[]
  /** Whether the caller owns no other objects. */
  readonly alone: boolean
}

/** Whether the list has exactly these of the objects. Without an object that it must have, nobody can see a difference. */
export function listFault(
  list: ListedRows,
  { placed, alone }: ListSetup,
  rows: readonly Representation[],
): string | undefined {
  const idsOf = (some: readonly Placed[]) => new Set(some.map(({ object }) => object.id))
  const wanted = idsOf(placed.filter(({ relations }) => isListed(list, relations)))
  const listed = new Set(rows.map(({ id }) => id))
  if (rows.some((row) => !Object.hasOwn(row, 'id')))
    return `a row of the list shows no \`id\`, so its objects can't be identified: state a view instead`
  if (wanted.size === 0 && (list.kind !== 'none' || placed.length === 0))
    return isOwnRows(list)
      ? 'no object of the caller could be put into this list'
      : `no object for ${meaningOf(list)} could be put into this list`
  const missing = [...wanted].filter((id) => !listed.has(id))
  const lacking = `the list lacks ${missing.length} of the ${wanted.size} objects that it should have`
  if (missing.length > 0) return `${lacking}, for example \`${missing[0]}\``
  if (list.kind === 'all') return undefined
  const here = idsOf(placed)
  // Relations other than the owner's may hold for objects of other cells.
  const counts = (id: Json | undefined) => here.has(id) || (alone && isOwnRows(list))
  const foreign = [...listed].filter((id) => !wanted.has(id) && counts(id))
  return foreign.length === 0
    ? undefined
    : `the list shows ${foreign.length} objects that are not ${meaningOf(list)}, for example \`${foreign[0]}\``
}

function meaningOf(list: ListedRows): string {
  return isOwnRows(list) ? "the caller's own" : `\`${rowsText(list)}\``
}

interface View {
  readonly name: string
  readonly fields: ReadonlySet<string>
}

/**
 * Whether a row shows exactly those of the view's fields that its object has. `objects`: those that the row can show.
 */
export function viewFault(
  row: Representation,
  objects: readonly Representation[],
  { name, fields }: View,
): string | undefined {
  const more = Object.keys(row).filter((field) => !fields.has(field))
  if (more.length > 0) return `the answer shows ${namesText(more)}, which the view \`${name}\` does not have`
  const lacking = objects.map((object) => [...fields].filter((field) => isLacking(row, object, field)))
  const less = lacking.some((some) => some.length === 0) ? [] : (lacking[0] ?? [])
  return less.length > 0 ? `the answer lacks ${namesText(less)} of the view \`${name}\`` : undefined
}

function isLacking(row: Representation, object: Representation, field: string): boolean {
  return !Object.hasOwn(row, field) && Object.hasOwn(object, field)
}

/**
 * The objects that this row can show. Compares the id, or in a row without an id all fields that clients
 * can give.
 */
export function objectsOf(
  row: Representation,
  objects: readonly Representation[],
  { fields }: Resource,
): readonly Representation[] {
  if (Object.hasOwn(row, 'id')) return objects.filter(({ id }) => id === row.id)
  const given = Object.entries(row).filter(([field]) => !fields.get(field)?.readOnly)
  return objects.filter((object) => given.every(([field, value]) => isDeepStrictEqual(value, object[field])))
}
