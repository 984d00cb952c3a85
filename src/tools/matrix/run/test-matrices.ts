/** A whole run: reads matrices, opens the targets, tries every cell, and closes the targets. */
import { ToolError } from '../../load-policy.ts'
import { loadSuite } from '../predict/suite.ts'
import { readCases } from '../read/cases.ts'
import { findMatrixFiles, readMatrices } from '../read/read-matrices.ts'
import type { TargetPool } from '../target/test-target.ts'
import { type RunOptions, workThrough } from '../target/work-through.ts'
import type { Result, Run } from './result.ts'
import { withDecisiveRules } from './rules-behind.ts'
import { caseTrials, cellTrials, type Filter, matches, matchesCase, type Trial } from './trials.ts'

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
