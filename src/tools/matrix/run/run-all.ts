/** Runs many cells and cases at once, lists first, and hands each result out as it comes. */
import type { Result } from './result.ts'

/** Something to be tried. */
export interface Trial {
  readonly title: string
  /** Lists come first: as long as little else is in the store, they are short. */
  readonly first: boolean
  run(): Promise<Result>
  /** The result of a trial whose turn doesn't come. */
  leaveOut(): Result
}

export interface RunOptions {
  /** How many at once. */
  readonly parallel: number
  /** Ends the run at the first that doesn't pass. */
  readonly bail: boolean
  /** Ends the run early. */
  readonly signal?: AbortSignal
  readonly observe: (result: Result) => void
}

/** The results in the order of the trials. */
export async function runAll(trials: readonly Trial[], options: RunOptions): Promise<readonly Result[]> {
  const results = new Map<Trial, Result>()
  const queue = [...trials.filter(({ first }) => first), ...trials.filter(({ first }) => !first)].values()
  let stopped = false
  const work = async () => {
    for (const trial of queue) {
      if (stopped || options.signal?.aborted) return
      const result = await trial.run()
      results.set(trial, result)
      options.observe(result)
      if (options.bail && result.outcome !== 'passed') stopped = true
    }
  }
  await Promise.all(Array.from({ length: options.parallel }, work))
  return trials.map((trial) => results.get(trial) ?? trial.leaveOut())
}
