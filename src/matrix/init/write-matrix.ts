/** A planned matrix as text: one file a resource, the same text for the same policy. */
import { columnText, expectedText, objectText } from '../expectation.ts'
import { lineOf } from './matrix-line.ts'
import type { Plan, PlannedRow } from './plan-matrix.ts'

export interface MatrixText {
  readonly name: string
  readonly text: string
}

/** `ending` stands before `.csv`, as in `orders.missing.csv`. In the order of the names. */
export function writeMatrix({ columns, rows }: Plan, ending: string): readonly MatrixText[] {
  const head = ['method', 'path', 'object', ...columns.map(columnText)]
  return [...Map.groupBy(rows, ({ spot }) => spot.resource.name)]
    .map(([resource, about]) => {
      const lines = about.toSorted(byPlace).map(cellsOf)
      return { name: `${resource.replaceAll('/', '-')}${ending}.csv`, text: [head, ...lines].map(lineOf).join('') }
    })
    .toSorted((a, b) => compare(a.name, b.name))
}

function cellsOf({ spot, methods, object, answers }: PlannedRow): readonly string[] {
  return [
    methods.join('|'),
    spot.route.path,
    objectText(object),
    ...answers.map((answer) => (answer ? expectedText(answer) : '-')),
  ]
}

/** Rows stay in the order of the routes' methods and of the objects; paths are sorted. */
function byPlace(a: PlannedRow, b: PlannedRow): number {
  return compare(a.spot.route.path, b.spot.route.path)
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
