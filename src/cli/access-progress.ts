/** How far a report about everybody is. */
import { setFlagsFromString } from 'node:v8'
import { isWholeProcess } from '../base/command-process.ts'
import type { AccessProgress } from '../tools/access/objects-in-memory.ts'
import { withProgress } from './progress.ts'

/** By default, V8 collects garbage only when the heap is several times as large as what is in use. */
const THRIFTY = '--heap-growing-percent=20'

/** A bar for each of the two. */
export function inPhases<T>(work: (progress: AccessProgress) => Promise<T>): Promise<T> {
  if (isWholeProcess()) setFlagsFromString(THRIFTY)
  return withProgress('{doing} {bar} {percentage}% {eta_formatted} left', (bar) => {
    const begin: AccessProgress['begin'] = (doing, total) => {
      bar.stop()
      bar.start(total, 0, { doing })
    }
    return work({ begin, done: (count) => bar.increment(count) })
  })
}
