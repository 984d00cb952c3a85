/** Every possible cell of the policy's matrices: the policy's answer, and whether an expectation states it. */

import { v7 as uuidv7 } from 'uuid'
import { MOST_SETS } from '../../../analysis/possible-sets.ts'
import type { Caller } from '../../../decide/caller.ts'
import type { RouteMethod } from '../../../decide/callers-and-routes.ts'
import { proposeNew, proposeReplacement, proposeUpdate } from '../../../decide/permits/propose.ts'
import type { Policy } from '../../../decide/policy.ts'
import { filledFields, valuesToFill } from '../../../decide/relations/ownership.ts'
import { askingAs } from '../../../decide/relations/relation-kind.ts'
import type { Json, Representation, Resource } from '../../../resources/resource.ts'
import type { Among, Attributes } from '../fixture/wanted-object.ts'
import { relationsAmong } from '../fixture/wanted-object.ts'
import type { Cell, FixtureRequest } from '../predict/cell-fixture.ts'
import { describe } from '../predict/compare-answer.ts'
import { placedIn } from '../predict/memory-store.ts'
import { type Predictor, predictCell, requestOfCell } from '../predict/predict-cell.ts'
import type { PredictedSuite } from '../predict/suite.ts'
import { columnText, expectedText, isUnconditional } from '../read/expectation.ts'
import { situationText } from '../read/words.ts'
import { askedColumns } from './columns.ts'
import { type AskedRow, cellKey, cellsOf, isCut, rowsOf } from './rows.ts'

export interface CoverageCell {
  readonly resource: string
  readonly method: string
  readonly path: string
  readonly object: string
  readonly column: string
  /** The policy's current answer, as a matrix writes it. */
  readonly answer: string
  readonly covered: boolean
}

/** A cell that can exist, but for which no object was found. */
export interface UnaskedCell extends Omit<CoverageCell, 'covered' | 'answer'> {
  readonly why: string
}

export interface CellSurvey {
  readonly cells: readonly CoverageCell[]
  /** Neither covered nor missing. */
  readonly unasked: readonly UnaskedCell[]
}

/**
 * The cells for which no object with the right relations was found are `unasked`; `cells` are all other possible cells.
 * `asks` chooses among the methods of routes.
 */
export async function surveyCells(
  suite: PredictedSuite,
  asks: (routeMethod: RouteMethod) => boolean = () => true,
): Promise<CellSurvey> {
  const { policy } = suite.evaluated
  const isStated = statedIn(suite)
  const columns = askedColumns(policy, suite.resources)
  const cells: CoverageCell[] = []
  const unasked: UnaskedCell[] = []
  const rows = rowsOf(policy, suite, asks)
  for (const row of rows) {
    for (const { column } of columns.filter(({ concerns }) => concerns(row.routeMethod))) {
      for (const cell of cellsOf(row, column)) {
        const place = placeOf(row, cell)
        const prediction = await predictCell(suite.predictor, suite.evaluated, cell)
        if (prediction.kind === 'answer') {
          const [words = { status: prediction.answer.status }] = describe(prediction)
          cells.push({ ...place, answer: expectedText(words), covered: isStated(cell) })
        }
        if (prediction.kind === 'unsolved') unasked.push({ ...place, why: prediction.why })
      }
    }
  }
  return { cells, unasked: [...unasked, ...furtherWays(rows)] }
}

/** Further cells if the rules name so many relations that not every set of relations has a row. */
function furtherWays(rows: readonly AskedRow[]): readonly UnaskedCell[] {
  const groups = Map.groupBy(rows, ({ routeMethod }) => routeMethod.endpoint)
  const cut = [...groups.values()].filter(isCut)
  return cut.flatMap(([row]) => {
    if (!row) return []
    const { resource, route, method } = row.routeMethod
    const why = `the rules name so many relations that only the first ${MOST_SETS} sets of relations are tried`
    return [{ resource: resource.name, method, path: route.path, object: 'further ways', column: 'every caller', why }]
  })
}

function placeOf({ routeMethod }: AskedRow, cell: Cell): Omit<CoverageCell, 'covered' | 'answer'> {
  const { method, path, column } = cell
  return { resource: routeMethod.resource.name, method, path, object: situationText(cell), column: columnText(column) }
}

/** Whether an expectation states a cell, with any body. A body also states what it leaves. */
export function statedIn(suite: PredictedSuite): (cell: Cell) => boolean {
  const { policy } = suite.evaluated
  const keyOf = (cell: Cell) => cellKey(policy, suite.predictor.routeMethods.get(`${cell.method} ${cell.path}`), cell)
  const keysOf = (cell: Cell) => {
    const becomes = cell.becomes ? undefined : resultOf(suite.predictor, policy, cell)
    return [keyOf(cell), ...(becomes ? [keyOf({ ...cell, becomes })] : [])]
  }
  const stated = new Set(suite.expectations.flatMap((one) => keysOf({ ...one, unconditional: isUnconditional(one) })))
  return (cell) => stated.has(keyOf(cell))
}

/** All relations that hold for the object that a write leaves, sorted; undefined if it leaves none, or is unknown. */
function resultOf(predictor: Predictor, policy: Policy, cell: Cell) {
  const request = requestOfCell(predictor, policy, cell)
  if (!request) return undefined
  const { routeMethod } = request
  const { now } = predictor
  const attributes = attributesOf(request.caller)
  const ownership = policy.ownership.get(routeMethod.resource.name)
  const object = objectLeft(routeMethod, request, { ownership, attributes, now })
  if (!object) return undefined
  const world = placedIn(request.objects)
  return relationsAmong({ ownership, attributes, now, world }, object).toSorted()
}

function attributesOf(caller: Caller | undefined): Attributes {
  return caller ? { ...(caller.claims as Attributes), id: caller.id } : {}
}

type SurveyFacts = Pick<Among, 'ownership' | 'attributes' | 'now'>

function objectLeft(
  { endpoint: { operation }, resource }: RouteMethod,
  { id, body, objects }: FixtureRequest,
  asking: SurveyFacts,
): Representation | undefined {
  const before = objects.get(resource.name)?.get(id ?? '')
  if (!body) return undefined
  if (operation === 'create') return objectCreated(resource, body, asking)
  if (!before) return undefined
  if (operation === 'update') return proposeUpdate(resource, body, before).after
  if (operation !== 'replace') return undefined
  const all = new Set(resource.fields.keys())
  const filled = new Set(filledFields(resource, asking.ownership).map(({ field }) => field.name))
  return proposeReplacement(resource, body, { before, writable: all, readable: all, filled }).after
}

export function objectCreated(
  resource: Resource,
  body: Readonly<Record<string, Json>>,
  { ownership, attributes, now }: SurveyFacts,
): Representation {
  const filled = valuesToFill(filledFields(resource, ownership), askingAs(attributes, now).valuesOf)
  return proposeNew(resource, body, { id: uuidv7(), filled, now: new Date(now).toISOString() }).after
}
