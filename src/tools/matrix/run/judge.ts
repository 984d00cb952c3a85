/** Judges whether an answer is the expected one; if not, describes the difference in one sentence. */

import { isObject } from '../../../base/is-object.ts'
import type { Json, Representation } from '../../../resources/resource.ts'
import { listFault, objectsOf, viewFault } from '../predict/row-faults.ts'
import type { HttpAnswer } from '../target/http.ts'
import type { BoundExpectation } from './bind.ts'
import type { CellSetup } from './set-up.ts'

/** The answer; for a list, also the rows of all pages. */
export interface Given {
  readonly answer: HttpAnswer
  readonly rows?: readonly Representation[]
}

/** Undefined if the answer is as expected. */
export function judge(bound: BoundExpectation, setup: CellSetup, { answer, rows }: Given): string | undefined {
  const { expected, method } = bound.expectation
  if (answer.status !== expected.status) return `expected ${expected.status}, got ${answer.status}`
  // An answer to HEAD has no body to compare.
  if (method === 'HEAD') return undefined
  if (expected.list)
    return listFault(expected.list, { placed: setup.placed, alone: setup.caller?.fresh ?? false }, rows ?? [])
  return bound.view ? judgeView(bound, bound.view, setup, rows ?? [answer.json]) : undefined
}

function judgeView(
  { expectation, resource }: BoundExpectation,
  fields: ReadonlySet<string>,
  { placed }: CellSetup,
  shown: readonly (Json | undefined)[],
): string | undefined {
  const rows = shown.flatMap((row) => (isObject(row) ? [row] : []))
  const objects = placed.map(({ object }) => object)
  const view = { name: expectation.expected.view ?? '', fields }
  const mine = rows.flatMap((row) => {
    const its = rows.length === 1 && placed.length === 1 ? objects : objectsOf(row, objects, resource)
    return rows.length === 1 || its.length > 0 ? [viewFault(row, its, view)] : []
  })
  if (mine.length === 0) return `the answer shows no object with the fields of the view \`${view.name}\``
  return mine.find((fault) => fault !== undefined)
}
