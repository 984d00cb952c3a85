/** Works through a list on the targets of a pool, several items at once. */
import type { Folders, Suite } from '../predict/suite.ts'
import type { TargetPool } from './test-target.ts'

interface Pace<R> {
  /** How many at once; the pool's own number if absent. */
  readonly parallel?: number
  /** Ends the work early; what was made is still cleaned up. */
  readonly signal?: AbortSignal
  readonly observe: (result: R) => void
  /** Whether the work ends with this result. */
  readonly isLast?: (result: R) => boolean
}

/** The options of a run that works through a list on its own targets. */
export interface RunOptions<R> extends Folders, Omit<Pace<R>, 'isLast'> {
  readonly openTargets: (suite: Suite) => Promise<TargetPool>
  /** Called with the number of items before the first. */
  readonly started: (items: number) => void
}

interface WorkedThrough<T, R> {
  /** By item; items that were never started are missing. */
  readonly results: ReadonlyMap<T, R>
  /** The remarks of the clean-up. */
  readonly remarks: readonly string[]
}

/** Closes the pool at the end, also after an error. */
export async function workThrough<T, R>(
  items: Iterable<T>,
  pool: TargetPool,
  { parallel = pool.parallel, signal, observe, isLast }: Pace<R>,
  work: (item: T) => Promise<R>,
): Promise<WorkedThrough<T, R>> {
  const results = new Map<T, R>()
  const queue = Iterator.from(items)
  let stopped = false
  const next = async () => {
    for (const item of queue) {
      if (stopped || signal?.aborted) return
      const result = await work(item)
      results.set(item, result)
      observe(result)
      if (isLast?.(result)) stopped = true
    }
  }
  try {
    await Promise.all(Array.from({ length: parallel }, next))
  } catch (error) {
    await pool.close()
    throw error
  }
  return { results, remarks: await pool.close() }
}
