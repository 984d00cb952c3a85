/** Compares two access matrices cell by cell. A row that only one of them has is never taken for an equal one. */
import { count } from '../../../present/text.ts'
import type { PrintedMatrix, PrintedRow } from './printed-matrix.ts'
import type { CellAnswer, CellChange, RouteChange } from './report.ts'

export interface ComparedMatrices {
  /** How many cells both have. */
  readonly compared: number
  readonly changes: readonly CellChange[]
  readonly routes: readonly RouteChange[]
  readonly undecided: readonly string[]
}

export function compareCells(old: PrintedMatrix, young: PrintedMatrix, holding: readonly string[]): ComparedMatrices {
  const oldRows = rowsByKey(old)
  const newRows = rowsByKey(young)
  const both = [...oldRows].flatMap(([key, row]) => {
    const other = newRows.get(key)
    return other ? [{ row, other }] : []
  })
  const callers = old.callers.filter((name) => young.callers.includes(name))
  const changes = both.flatMap(({ row, other }) => callers.flatMap((caller) => changeOf(caller, row, other, holding)))
  const gone = withoutKeys(old, newRows)
  const added = withoutKeys(young, oldRows)
  return {
    compared: both.length * callers.length,
    changes,
    routes: [...routesOf('gone', gone, routeNames(young)), ...routesOf('new', added, routeNames(old))],
    undecided: [
      ...strangers(old, young),
      ...unlike('the old one', gone, routeNames(young)),
      ...unlike('the new one', added, routeNames(old)),
    ],
  }
}

function rowsByKey({ rows }: PrintedMatrix): ReadonlyMap<string, PrintedRow> {
  return new Map(rows.map((row) => [row.key, row]))
}

function withoutKeys({ rows }: PrintedMatrix, others: ReadonlyMap<string, PrintedRow>): readonly PrintedRow[] {
  return rows.filter(({ key }) => !others.has(key))
}

function changeOf(
  caller: string,
  row: PrintedRow,
  other: PrintedRow,
  holding: readonly string[],
): readonly CellChange[] {
  const [before, after] = [row.cells.get(caller), other.cells.get(caller)]
  if (!before || !after || answerText(before) === answerText(after)) return []
  const { method, path, relation, becomes } = row
  return [
    {
      caller,
      method,
      path,
      relation,
      ...(becomes === undefined ? {} : { becomes }),
      holding,
      effect: effectOf(before, after),
      old: before,
      new: after,
    },
  ]
}

/** Which lines decide is no part of the answer. */
function answerText({ outcome, granted, fields, conditions }: CellAnswer): string {
  return JSON.stringify([outcome, granted, fields.toSorted(), conditions.toSorted()])
}

function effectOf(before: CellAnswer, after: CellAnswer): CellChange['effect'] {
  const grants = [before, after].map(({ outcome, fields }) => new Set(outcome === 'allowed' ? ['', ...fields] : []))
  const [had = new Set(), has = new Set()] = grants
  if (had.size === has.size && had.isSubsetOf(has)) return 'changes'
  if (had.isSubsetOf(has)) return 'widens'
  return has.isSubsetOf(had) ? 'narrows' : 'changes'
}

function routeNames({ rows }: PrintedMatrix): ReadonlySet<string> {
  return new Set(rows.map(routeName))
}

function routeName({ method, path }: PrintedRow): string {
  return `${method} ${path}`
}

function routesOf(
  kind: RouteChange['kind'],
  rows: readonly PrintedRow[],
  others: ReadonlySet<string>,
): readonly RouteChange[] {
  const alone = rows.filter((row) => !others.has(routeName(row)))
  const allowed = Map.groupBy(alone, routeName)
  const callersOf = (row: PrintedRow) => allowedCallers(allowed.get(routeName(row)) ?? [])
  const alike = Map.groupBy(alone, (row) => JSON.stringify([row.path, callersOf(row)]))
  return [...alike.values()].flatMap((some) => {
    const [first] = some
    const methods = [...new Set(some.map(({ method }) => method))]
    return first ? [{ kind, methods, path: first.path, callers: callersOf(first) }] : []
  })
}

/** For some object. */
function allowedCallers(rows: readonly PrintedRow[]): readonly string[] {
  const cells = rows.flatMap((row) => [...row.cells])
  return [...new Set(cells.flatMap(([name, { outcome }]) => (outcome === 'allowed' ? [name] : [])))]
}

/** Kinds of objects that only one version tells apart, on a route that both serve. */
function unlike(of: string, rows: readonly PrintedRow[], others: ReadonlySet<string>): readonly string[] {
  const here = Map.groupBy(
    rows.filter((row) => others.has(routeName(row))),
    routeName,
  )
  return [...here].map(([name, { length }]) => {
    return `the versions tell objects apart in different ways at ${name}: ${count(length, 'row')} of ${of} without a counterpart`
  })
}

function strangers(old: PrintedMatrix, young: PrintedMatrix): readonly string[] {
  const names = [...new Set(old.callers).symmetricDifference(new Set(young.callers))]
  return names.map((name) => `only one version has a column for the caller ${name}`)
}
