/** All possible rows of a matrix: every path and method, every set of relations to the object, every column. */

import { MOST_SETS } from '../../../analysis/possible-sets.ts'
import { type RouteMethod, routeMethodsOf } from '../../../decide/callers-and-routes.ts'
import type { Policy } from '../../../decide/policy.ts'
import type { Json, Method } from '../../../resources/resource.ts'
import { conditionsAbout } from '../arrange/conditions-about.ts'
import type { Known } from '../arrange/relatability.ts'
import type { Cell } from '../predict/arrange-world.ts'
import { columnText, type MatrixColumn } from '../read/expectation.ts'
import { resultsOf } from './results.ts'
import { namedHere, type Situation, statesOf } from './situations.ts'

/** A row of a matrix: methods of the same endpoint, and one situation. */
export interface AskedRow extends Situation {
  readonly routeMethod: RouteMethod
  readonly methods: readonly Method[]
  /** Absent for the smallest body; `file` is one of bodies/. */
  readonly body?: { readonly file: string; readonly content: Readonly<Record<string, Json>> }
  /** Sent without `If-Match` to a route that requires it. */
  readonly unconditional?: true
}

/**
 * One row for each difference between objects that a rule of these policies makes, and for what writes leave. `asks` chooses among the methods of routes. A matrix
 * can't write the path of `OPTIONS *`.
 */
export function rowsOf(
  policies: readonly Policy[],
  known: Known,
  asks: (routeMethod: RouteMethod) => boolean = () => true,
): readonly AskedRow[] {
  const routeMethods = routeMethodsOf(known.resources).filter((one) => one.route.path !== '*' && asks(one))
  return [
    ...Map.groupBy(routeMethods, ({ route, endpoint }) => `${route.path} ${endpoint.operation}`).values(),
  ].flatMap((group) => {
    const [routeMethod] = group
    if (!routeMethod) return []
    const methods = group.map(({ method }) => method)
    // One more than people read shows that there are more.
    const situations = [statesOf, resultsOf].flatMap((some) => [
      ...some(policies, routeMethod, known).take(MOST_SETS + 1),
    ])
    return situations.map((one) => ({ routeMethod, methods, ...one }))
  })
}

/** Whether there are more situations than those of these rows, which are about one endpoint. */
export function isCut(rows: readonly AskedRow[]): boolean {
  const results = rows.filter(({ becomes }) => becomes).length
  return results > MOST_SETS || rows.length - results > MOST_SETS
}

/** One for each method of the row. */
export function cellsOf(
  { routeMethod, methods, object, when, becomes, body, unconditional }: AskedRow,
  column: MatrixColumn,
): readonly Cell[] {
  const content = body && { content: body.content }
  const how = { ...(unconditional && { unconditional }), ...(when && { when }), ...(becomes && { becomes }) }
  return methods.map((method) => ({ method, path: routeMethod.route.path, object, column, ...content, ...how }))
}

/** Cells have the same key if no rule distinguishes them, even if they send different bodies. */
export function cellKey(
  policy: Policy,
  routeMethod: RouteMethod | undefined,
  { method, path, object, column, when = [], becomes, unconditional = false }: Cell,
): string {
  const named = routeMethod && namedHere(policy, routeMethod)
  const counting = (some: readonly string[]) => some.filter((name) => named?.has(name))
  const names = object.kind === 'relations' ? counting(object.names) : []
  const conditions = routeMethod ? conditionsAbout(policy, routeMethod.resource, routeMethod.endpoint) : []
  const about = [when.filter((name) => conditions.includes(name)), becomes ? counting(becomes) : null]
  const kind = object.kind === 'relations' || object.kind === 'other' ? 'exists' : object.kind
  return JSON.stringify([method, path, kind, names, columnText(column), ...about, unconditional])
}
