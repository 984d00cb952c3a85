/** Works through trials on the targets of a run. Each has a result: also one that can't be tried, or is left out. */
import type { Folders, Suite } from '../predict/suite.ts'
import type { Expectation } from '../read/expectation.ts'
import { NoAnswer } from '../target/http.ts'
import { CannotSetUp, type LentTarget, type TargetPool, type TestTarget, ValueTaken } from '../target/test-target.ts'
import { type Exchange, impossible, LEFT_OUT, type Run, type Timed, type TrialResult } from './result.ts'

/** One thing to try. */
export interface Trial<A> {
  /** What its result tells beside the outcome, such as the title. */
  readonly about: A
  /** Lists run first: they are short while the store is nearly empty. */
  readonly first?: boolean
  /** Runs last, while no other trial runs: what others write can be an event. */
  readonly alone?: boolean
  /** Rejects only for a bug in this program; a trial that isn't possible is a result. */
  carryOut(pool: TargetPool): Promise<TrialResult>
}

export interface RunOptions<A> extends Folders {
  readonly openTargets: (suite: Suite) => Promise<TargetPool>
  /** Called with the number of trials before the first. */
  readonly started: (trials: number) => void
  readonly observe: (result: A & Timed) => void
  /** How many at once; the pool's own number if absent. */
  readonly parallel?: number
  /** Ends the run early; what was made is still cleaned up. */
  readonly signal?: AbortSignal
  /** Ends the run at the first trial that doesn't pass. */
  readonly bail?: boolean
}

/** The results are in the order of the trials. Closes the targets at the end, also after an error. */
export async function runTrials<A>(
  suite: Suite,
  trials: readonly Trial<A>[],
  { openTargets, started, observe, signal, bail = false, ...options }: RunOptions<A>,
): Promise<Run<A & Timed>> {
  const startedAt = new Date().toISOString()
  const from = performance.now()
  const pool = await openTargets(suite)
  started(trials.length)
  const results = new Map<Trial<A>, A & Timed>()
  const together = trials.filter(({ alone }) => !alone)
  const queue = [...together.filter(({ first }) => first), ...together.filter(({ first }) => !first)].values()
  let stopped = false
  const work = async (some: Iterable<Trial<A>>) => {
    for (const trial of some) {
      if (stopped || signal?.aborted) return
      const since = performance.now()
      const tried = await trial.carryOut(pool)
      const result = { ...trial.about, ...tried, milliseconds: performance.now() - since }
      results.set(trial, result)
      observe(result)
      if (bail && tried.outcome !== 'passed') stopped = true
    }
  }
  try {
    await Promise.all(Array.from({ length: options.parallel ?? pool.parallel }, () => work(queue)))
    await work(trials.filter(({ alone }) => alone))
  } catch (error) {
    await pool.close()
    throw error
  }
  const remarks = await pool.close()
  const milliseconds = performance.now() - from
  const all = trials.map((trial) => results.get(trial) ?? { ...trial.about, ...LEFT_OUT })
  return { url: pool.url, startedAt, milliseconds, results: all, remarks }
}

type TryIt = (target: TestTarget) => Promise<TrialResult>

/**
 * Tries it on a target on which the conditions of the expectation hold. Where other trials have taken the values of a unique
 * field, it is tried again on an empty target, if there is one.
 */
export async function tryOnTarget(
  { lend, lendEmpty }: Pick<TargetPool, 'lend' | 'lendEmpty'>,
  expectation: Expectation,
  tryIt: TryIt,
): Promise<TrialResult> {
  const first = await tryOn(lend(expectation), tryIt)
  const { result } = first.isTaken && lendEmpty ? await tryOn(lendEmpty(expectation), tryIt) : first
  return result
}

async function tryOn(lending: Promise<LentTarget>, tryIt: TryIt) {
  try {
    const { target, release } = await lending
    const result = await tryIt(target).finally(release)
    return { result, isTaken: result.outcome === 'failed' && result.exchanges.some(isTaken) }
  } catch (error) {
    if (error instanceof CannotSetUp || error instanceof NoAnswer)
      return { result: impossible(error.message), isTaken: error instanceof ValueTaken }
    throw error
  }
}

function isTaken({ answer }: Exchange): boolean {
  return answer?.status === 409 && answer.text.includes('"unique-taken"')
}
