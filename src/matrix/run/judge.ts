/** Whether an answer is the expected one, and if not, what is different, in one sentence. */
import type { Json, Representation } from '../../resources/resource.ts'
import type { Bound } from '../bind.ts'
import type { HttpAnswer } from './ask.ts'
import type { Placed, Scene } from './set-up.ts'

/** What was answered; of a list, the rows of all pages. */
export interface Given {
  readonly answer: HttpAnswer
  readonly rows?: readonly Representation[]
}

/** Undefined for what was expected. */
export function judge(bound: Bound, scene: Scene, { answer, rows }: Given): string | undefined {
  const { expected, method } = bound.expectation
  if (answer.status !== expected.status) return `${expected.status} was expected, and the answer is ${answer.status}`
  // An answer to HEAD has no body to look at.
  if (method === 'HEAD') return undefined
  if (expected.list) return judgeList(expected.list, scene, rows ?? [])
  return bound.view ? judgeView(bound, bound.view, scene, rows ?? [answer.json]) : undefined
}

function judgeList(
  list: 'own' | 'all',
  { placed, caller }: Scene,
  rows: readonly Representation[],
): string | undefined {
  const wanted = new Set(placed.filter(({ own }) => own || list === 'all').map(({ object }) => object.id))
  const listed = new Set(rows.map(({ id }) => id))
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
  { expectation }: Bound,
  view: ReadonlySet<string>,
  { placed }: Scene,
  shown: readonly (Json | undefined)[],
): string | undefined {
  const known = new Map(placed.map(({ object }) => [object.id, object]))
  const rows = shown.flatMap((row) => (isObject(row) ? [row] : []))
  const mine = rows.filter((row) => rows.length === 1 || known.has(row.id as string))
  if (mine.length === 0)
    return `the answer shows no object whose fields could be those of the view \`${expectation.expected.view}\``
  return mine.map((row) => fieldFault(row, view, expectedIn(row, known, placed))).find((fault) => fault !== undefined)

  function fieldFault(row: Representation, fields: ReadonlySet<string>, object: Representation | undefined) {
    const more = Object.keys(row).filter((field) => !fields.has(field))
    const less = [...fields].filter((field) => !Object.hasOwn(row, field) && object && Object.hasOwn(object, field))
    if (more.length > 0)
      return `the answer shows ${names(more)}, which the view \`${expectation.expected.view}\` does not have`
    return less.length > 0 ? `the answer lacks ${names(less)} of the view \`${expectation.expected.view}\`` : undefined
  }
}

/** The object whose row it is; a row may not show its id. */
function expectedIn(
  row: Representation,
  known: ReadonlyMap<Json | undefined, Representation>,
  placed: readonly Placed[],
): Representation | undefined {
  return known.get(row.id) ?? (placed.length === 1 ? placed[0]?.object : undefined)
}

function names(fields: readonly string[]): string {
  return fields.map((field) => `\`${field}\``).join(', ')
}

function isObject(value: Json | undefined): value is Representation {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
