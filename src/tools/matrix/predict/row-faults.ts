/** The difference between the rows of an answer and a cell's words, in one sentence; undefined if they agree. */
import { namesText } from '../../../present/quote.ts'
import type { Representation } from '../../../resources/resource.ts'

/** An object of the cell, and whether the caller is its owner. */
export interface Placed {
  readonly object: Representation
  readonly own: boolean
}

interface ListSetup {
  readonly placed: readonly Placed[]
  /** Whether the caller owns no other objects. */
  readonly alone: boolean
}

/** Whether the list has exactly the caller's own objects, or all. Without such objects, nobody can see a difference. */
export function listFault(
  list: 'own' | 'all',
  { placed, alone }: ListSetup,
  rows: readonly Representation[],
): string | undefined {
  const wanted = new Set(placed.filter(({ own }) => own || list === 'all').map(({ object }) => object.id))
  const listed = new Set(rows.map(({ id }) => id))
  if (rows.some((row) => !Object.hasOwn(row, 'id')))
    return `a row of the list shows no \`id\`, so its objects can't be identified: state a view instead`
  if (wanted.size === 0) return 'no object of the caller could be put into this list'
  const missing = [...wanted].filter((id) => !listed.has(id))
  const lacking = `the list lacks ${missing.length} of the ${wanted.size} objects that it should have`
  if (missing.length > 0) return `${lacking}, for example \`${missing[0]}\``
  if (list === 'all') return undefined
  const here = new Set(placed.map(({ object }) => object.id))
  const foreign = [...listed].filter((id) => !wanted.has(id) && (alone || here.has(id)))
  return foreign.length === 0
    ? undefined
    : `the list shows ${foreign.length} objects that are not the caller's own, for example \`${foreign[0]}\``
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
