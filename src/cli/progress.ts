/** For commands that take a while: a progress bar on a terminal, and the handling of Ctrl-C. */

import type { SingleBar } from 'cli-progress'
import { commandProcess, onSignals } from '../base/command-process.ts'
import { tell } from '../present/print.ts'

/** `format` is a format of cli-progress. No bar is shown if standard error is not a terminal. */
export async function withProgress<T>(format: string, work: (bar: SingleBar) => Promise<T> | T): Promise<T> {
  const { SingleBar } = await import('cli-progress')
  const bar = new SingleBar({ format, noTTYOutput: false, stream: commandProcess().stderr })
  try {
    return await work(bar)
  } finally {
    bar.stop()
  }
}

/**
 * The first Ctrl-C ends the run, which then removes what it created; the second ends the program at once and leaves it.
 */
export function interrupted(): AbortSignal {
  const abort = new AbortController()
  const end = () => {
    if (abort.signal.aborted) {
      tell('\nsallyport: ended at once; some objects and users of the run remain on the server\n')
      process.exit(2)
    }
    tell('\nsallyport: ending, and removing the objects and users of the run; press Ctrl-C again to leave them\n')
    abort.abort()
  }
  onSignals(['SIGINT', 'SIGTERM'] as const, end)
  return abort.signal
}
