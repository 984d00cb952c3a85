/** A whole run: the cells and cases that the filter leaves, on targets that it opens and closes. */
import { createRouteMatcher } from '../../../resources/routing/match-route.ts'
import { readTarget } from '../../../resources/routing/request-target.ts'
import { ToolError } from '../../load-policy.ts'
import { loadSuite, type Suite } from '../predict/suite.ts'
import { type Case, readCases } from '../read/cases.ts'
import { columnText, type Expectation, type MatrixColumn } from '../read/expectation.ts'
import { findMatrixFiles, readMatrices } from '../read/read-matrices.ts'
import {
  CannotSetUp,
  type LentTarget,
  type RunOptions,
  type TargetPool,
  type TestTarget,
  workThrough,
} from '../target/test-target.ts'
import type { Result, Run } from './result.ts'
import { runCase } from './run-case.ts'
import { runCell, titleOf, withoutTarget } from './run-cell.ts'
import { withDecisiveRules } from './why-wrong.ts'

/** One thing to try. */
interface Trial {
  readonly title: string
  /** Lists run first: they are short while the store is nearly empty. */
  readonly first: boolean
  run(): Promise<Result>
  /** The result of a trial that the run never started. */
  leaveOut(): Result
}

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

const LEFT_OUT = {
  outcome: 'left-out',
  why: 'the run ended before its turn',
  exchanges: [],
  milliseconds: 0,
} as const

/** `lend` gives each cell a target. */
function cellTrials(
  suite: Suite,
  lend: (expectation: Expectation) => Promise<LentTarget>,
  expectations: readonly Expectation[],
): readonly Trial[] {
  return expectations.map((expectation) => ({
    title: titleOf(expectation),
    first: expectation.object.kind === 'none' && expectation.method === 'GET',
    run: async () => {
      const lent = await lend(expectation).catch((error) => {
        if (error instanceof CannotSetUp) return error
        throw error
      })
      if (lent instanceof CannotSetUp) return withoutTarget(expectation, lent.message)
      return runCell(suite, lent.target, expectation).finally(lent.release)
    },
    leaveOut: () => ({
      ...LEFT_OUT,
      kind: 'cell',
      title: titleOf(expectation),
      place: expectation.place,
      expectation,
    }),
  }))
}

function caseTrials(suite: Suite, target: TestTarget, cases: readonly Case[]): readonly Trial[] {
  return cases.map((one) => ({
    title: one.name,
    first: false,
    run: () => runCase(suite, target, one),
    leaveOut: () => ({ ...LEFT_OUT, kind: 'case', title: one.name, place: one.place }),
  }))
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

export interface TestOptions extends RunOptions<Result> {
  readonly filter: Filter
  /** Ends the run at the first trial that doesn't pass. */
  readonly bail: boolean
}

/** Throws FileError for faulty files, and ToolError where nothing can be tested. */
export async function testMatrices(paths: readonly string[], options: TestOptions): Promise<Run> {
  const { filter, openTargets } = options
  const startedAt = new Date().toISOString()
  const from = performance.now()
  const files = await findMatrixFiles(paths)
  const [cells, cases] = await Promise.all([readMatrices(files.matrices), readCases(files.cases)])
  const suite = await loadSuite(options, cells)
  const chosen = cells.filter((cell) => matches(filter, suite, cell))
  const kept = cases.filter((one) => matchesCase(filter, suite, one))
  if (chosen.length + kept.length === 0) {
    throw new ToolError(`no cell of ${paths.join(', ')} is selected: check --only, --role and --resource`)
  }
  const pool = await openTargets(suite)
  const trials = [...cellTrials(suite, pool.lend, chosen), ...caseTrials(suite, pool.target, kept)]
  const { results, remarks } = await tryAll(trials, pool, options)
  const milliseconds = performance.now() - from
  return { url: pool.url, startedAt, milliseconds, results: await withDecisiveRules(suite, results), remarks }
}

/** Lists come first. The results are in the order of the trials. */
async function tryAll(
  trials: readonly Trial[],
  pool: TargetPool,
  { bail, started, ...pace }: TestOptions,
): Promise<Pick<Run, 'results' | 'remarks'>> {
  started(trials.length)
  const isLast = ({ outcome }: Result) => bail && outcome !== 'passed'
  const queue = [...trials.filter(({ first }) => first), ...trials.filter(({ first }) => !first)]
  const { results, remarks } = await workThrough(queue, pool, { ...pace, isLast }, (trial) => trial.run())
  return { results: trials.map((trial) => results.get(trial) ?? trial.leaveOut()), remarks }
}
