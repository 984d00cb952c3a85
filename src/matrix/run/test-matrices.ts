/** A whole run in this process: reads matrices, starts a throw-away server, tries every cell, and stops it. */
import { ReviewError } from '../../review/load-policy.ts'
import { findMatrixFiles, readMatrices } from '../read-matrices.ts'
import type { Run } from '../report/summary.ts'
import { cellTrials, type Filter, matches } from './cell-trials.ts'
import { type Folders, loadGround } from './load-ground.ts'
import type { Result } from './result.ts'
import { runAll } from './run-all.ts'
import { createTrialStage, type StartTrialServer } from './trial-stage.ts'

export interface TestOptions extends Folders {
  readonly filter: Filter
  readonly bail: boolean
  readonly parallel?: number
  readonly startServer: StartTrialServer
  /** Called with the number of cells before the first. */
  readonly started: (cells: number) => void
  readonly observe: (result: Result) => void
}

/** One process serves and asks: more at once only wait for each other. */
const PARALLEL = 16

/** Throws FileError for faulty files, and ReviewError where nothing is to be tested. */
export async function testMatrices(paths: readonly string[], options: TestOptions): Promise<Run> {
  const { filter, bail, parallel = PARALLEL, startServer, started, observe } = options
  const startedAt = new Date().toISOString()
  const from = performance.now()
  const cells = await readMatrices((await findMatrixFiles(paths)).matrices)
  const ground = await loadGround(options, cells)
  const chosen = cells.filter((cell) => matches(filter, ground, cell))
  if (chosen.length === 0)
    throw new ReviewError(`no cell of ${paths.join(', ')} is to be tested; see --only, --role and --resource`)
  const server = await startServer(options)
  try {
    const trials = cellTrials(ground, createTrialStage(server), chosen)
    started(trials.length)
    const results = await runAll(trials, { parallel, bail, observe })
    return { url: undefined, startedAt, milliseconds: performance.now() - from, results, remarks: [] }
  } finally {
    await server.stop()
  }
}
