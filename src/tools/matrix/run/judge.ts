/** Judges whether an answer is the expected one; if not, describes the difference in one sentence. */

import { isDeepStrictEqual } from 'node:util'
import { isObject } from '../../../base/is-object.ts'
import type { Json, Representation, Resource } from '../../../resources/resource.ts'
import type { HttpAnswer } from '../target/http.ts'
import type { Bound } from './bind.ts'
import type { CellSetup } from './set-up.ts'

/** The answer; for a list, also the rows of all pages. */
export interface Given {
  readonly answer: HttpAnswer
  readonly rows?: readonly Representation[]
}

/** Undefined if the answer is as expected. */
export function judge(bound: Bound, setup: CellSetup, { answer, rows }: Given): string | undefined {
  const { expected, method } = bound.expectation
  if (answer.status !== expected.status) return `${expected.status} was expected, and the answer is ${answer.status}`
  // An answer to HEAD has no body to compare.
  if (method === 'HEAD') return undefined
  if (expected.list) return judgeList(expected.list, setup, rows ?? [])
  return bound.view ? judgeView(bound, bound.view, setup, rows ?? [answer.json]) : undefined
}

function judgeList(
  list: 'own' | 'all',
  { placed, caller }: CellSetup,
  rows: readonly Representation[],
): string | undefined {
  const wanted = new Set(placed.filter(({ own }) => own || list === 'all').map(({ object }) => object.id))
  const listed = new Set(rows.map(({ id }) => id))
  if (rows.some((row) => !Object.hasOwn(row, 'id')))
    return `a row of the list shows no \`id\`, so its objects can't be identified; state a view`
  if (wanted.size === 0) return 'no object of the caller could be put into this list'
  const missing = [...wanted].filter((id) => !listed.has(id))
  if (missing.length > 0)
    return `the list lacks ${missing.length} of the ${wanted.size} objects that belong into it, as \`${missing[0]}\``
  if (list === 'all') return undefined
  const here = new Set(placed.map(({ object }) => object.id))
  const foreign = [...listed].filter((id) => !wanted.has(id) && (caller?.fresh || here.has(id)))
  return foreign.length === 0
    ? undefined
    : `the list shows ${foreign.length} objects that are not the caller's own, as \`${foreign[0]}\``
}

function judgeView(
  { expectation, resource }: Bound,
  view: ReadonlySet<string>,
  { placed }: CellSetup,
  shown: readonly (Json | undefined)[],
): string | undefined {
  const rows = shown.flatMap((row) => (isObject(row) ? [row] : []))
  const objects = placed.map(({ object }) => object)
  const mine = rows.flatMap((row) => {
    const its = rows.length === 1 && placed.length === 1 ? objects : objectsOf(row, objects, resource)
    return rows.length === 1 || its.length > 0 ? [faultOf(row, its)] : []
  })
  if (mine.length === 0)
    return `the answer shows no object whose fields could be those of the view \`${expectation.expected.view}\``
  return mine.find((fault) => fault !== undefined)

  function faultOf(row: Representation, its: readonly Representation[]): string | undefined {
    const more = Object.keys(row).filter((field) => !view.has(field))
    const lacking = its.map((object) => [...view].filter((field) => isLacking(row, object, field)))
    const less = lacking.some((fields) => fields.length === 0) ? [] : (lacking[0] ?? [])
    if (more.length > 0)
      return `the answer shows ${names(more)}, which the view \`${expectation.expected.view}\` does not have`
    return less.length > 0 ? `the answer lacks ${names(less)} of the view \`${expectation.expected.view}\`` : undefined
  }
}

function isLacking(row: Representation, object: Representation, field: string): boolean {
  return !Object.hasOwn(row, field) && Object.hasOwn(object, field)
}

/**
 * The objects of the cell that this row can show. Compares the id, or in a row without an id all fields that clients
 * can give.
 */
function objectsOf(
  row: Representation,
  objects: readonly Representation[],
  { fields }: Resource,
): readonly Representation[] {
  if (Object.hasOwn(row, 'id')) return objects.filter(({ id }) => id === row.id)
  const given = Object.entries(row).filter(([field]) => !fields.get(field)?.readOnly)
  return objects.filter((object) => given.every(([field, value]) => isDeepStrictEqual(value, object[field])))
}

function names(fields: readonly string[]): string {
  return fields.map((field) => `\`${field}\``).join(', ')
}
