/** A whole run: the cells and cases that the filter leaves, on targets that it opens and closes. */

import { createRouteMatcher } from '../../../resources/routing/match-route.ts'
import { readTarget } from '../../../resources/routing/request-target.ts'
import { ToolError } from '../../load-policy.ts'
import { loadSuite, type Suite } from '../predict/suite.ts'
import { type Case, readCases } from '../read/cases.ts'
import { columnText, type Expectation, type MatrixColumn } from '../read/expectation.ts'
import { findMatrixFiles, readMatrices } from '../read/read-matrices.ts'
import { titleOf } from '../read/words.ts'
import type { CellOrCase, Run } from './result.ts'
import { runCase } from './run-case.ts'
import { runCell } from './run-cell.ts'
import { type RunOptions, runTrials, type Trial } from './run-trials.ts'
import { withDecisiveRules } from './why-wrong.ts'

/** Empty or absent members don't restrict. */
interface Filter {
  /** In a cell's title: `GET /api/orders/{id} (own) as member is 200`. */
  readonly only?: RegExp
  /** Columns that hold one of these roles, or whose text is one of these words. */
  readonly roles: readonly string[]
  readonly resources: readonly string[]
}

function matches({ only, roles, resources }: Filter, { resources: known }: Suite, one: Expectation): boolean {
  const route = known.routes.find(({ path }) => path === one.path)
  return (
    (only?.test(titleOf(one)) ?? true) &&
    (roles.length === 0 || isOneOf(roles, one.column)) &&
    (resources.length === 0 || (route !== undefined && resources.includes(route.resource)))
  )
}

function isOneOf(words: readonly string[], column: MatrixColumn): boolean {
  return (
    words.includes(columnText(column)) || (column.kind === 'roles' && column.roles.some((role) => words.includes(role)))
  )
}

function cellTrial(suite: Suite, expectation: Expectation): Trial<CellOrCase> {
  const { object, event, method, place } = expectation
  return {
    about: { kind: 'cell', title: titleOf(expectation), place, expectation },
    first: object.kind === 'none' && method === 'GET',
    alone: event !== undefined,
    carryOut: (pool) => runCell(suite, pool, expectation),
  }
}

function caseTrial(suite: Suite, one: Case): Trial<CellOrCase> {
  return {
    about: { kind: 'case', title: one.name, place: one.place },
    carryOut: ({ target }) => runCase(suite, target, one),
  }
}

/**
 * A case is kept or dropped as a whole. It is kept if one of its steps is about a wanted resource and one of its
 * callers holds a wanted role.
 */
function matchesCase({ only, roles, resources }: Filter, { resources: known }: Suite, one: Case): boolean {
  const match = createRouteMatcher(known.routes)
  const about = one.steps.flatMap(({ path }) => {
    const found = match('GET', readTarget(path.replaceAll(/\{[^}]*\}/g, 'id')))
    return 'route' in found ? [found.route.resource] : []
  })
  return (
    (only?.test(one.name) ?? true) &&
    (resources.length === 0 || about.some((name) => resources.includes(name))) &&
    (roles.length === 0 || [...one.callers.values()].some((column) => isOneOf(roles, column)))
  )
}

export interface TestOptions extends RunOptions<CellOrCase> {
  readonly filter: Filter
}

/** Throws FileError for faulty files, and ToolError where nothing can be tested. */
export async function testMatrices(paths: readonly string[], options: TestOptions): Promise<Run> {
  const { filter } = options
  const files = await findMatrixFiles(paths)
  const [cells, cases] = await Promise.all([readMatrices(files.matrices), readCases(files.cases)])
  const suite = await loadSuite(options, cells)
  const chosen = cells.filter((cell) => matches(filter, suite, cell))
  const kept = cases.filter((one) => matchesCase(filter, suite, one))
  if (chosen.length + kept.length === 0) {
    throw new ToolError(`no cell of ${paths.join(', ')} is selected: check --only, --role and --resource`)
  }
  const trials = [...chosen.map((cell) => cellTrial(suite, cell)), ...kept.map((one) => caseTrial(suite, one))]
  const run = await runTrials(suite, trials, options)
  return { ...run, results: await withDecisiveRules(suite, run.results) }
}
