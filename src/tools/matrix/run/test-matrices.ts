/** A whole run: reads matrices, opens the arena, tries every cell, and leaves the arena as it was. */
import { ReviewError } from '../../load-policy.ts'
import { readCases } from '../read/read-cases.ts'
import { findMatrixFiles, readMatrices } from '../read/read-matrices.ts'
import type { Arena } from '../target/test-target.ts'
import type { Folders, Ground } from './bind.ts'
import { caseTrials, matchesCase } from './case-trials.ts'
import { cellTrials, type Filter, matches } from './cell-trials.ts'
import { withDecisiveRules } from './decisive-rule.ts'
import { loadGround } from './load-ground.ts'
import type { Result } from './result.ts'
import { runAll, type Trial } from './run-all.ts'
import type { Run } from './summary.ts'

export interface TestOptions extends Folders {
  readonly filter: Filter
  readonly bail: boolean
  readonly parallel?: number
  /** Ends the run early; what was made is still cleaned up. */
  readonly signal?: AbortSignal
  readonly openArena: (ground: Ground) => Promise<Arena>
  /** Called with the number of cells before the first. */
  readonly started: (cells: number) => void
  readonly observe: (result: Result) => void
}

/** Throws FileError for faulty files, and ReviewError where nothing can be tested. */
export async function testMatrices(paths: readonly string[], options: TestOptions): Promise<Run> {
  const { filter, openArena } = options
  const startedAt = new Date().toISOString()
  const from = performance.now()
  const files = await findMatrixFiles(paths)
  const [cells, cases] = await Promise.all([readMatrices(files.matrices), readCases(files.cases)])
  const ground = await loadGround(options, cells)
  const chosen = cells.filter((cell) => matches(filter, ground, cell))
  const kept = cases.filter((one) => matchesCase(filter, ground, one))
  if (chosen.length + kept.length === 0) {
    throw new ReviewError(`no cell of ${paths.join(', ')} is to be tested; see --only, --role and --resource`)
  }
  const arena = await openArena(ground)
  const trials = [...cellTrials(ground, arena.lend, chosen), ...caseTrials(ground, arena.stage, kept)]
  const { results, remarks } = await tryIn(arena, options, trials)
  const milliseconds = performance.now() - from
  return { url: arena.url, startedAt, milliseconds, results: withDecisiveRules(ground, results), remarks }
}

async function tryIn(
  arena: Arena,
  { parallel = arena.parallel, started, ...options }: TestOptions,
  trials: readonly Trial[],
): Promise<Pick<Run, 'results' | 'remarks'>> {
  started(trials.length)
  try {
    const results = await runAll(trials, { ...options, parallel })
    return { results, remarks: await arena.leave() }
  } catch (error) {
    await arena.leave()
    throw error
  }
}
