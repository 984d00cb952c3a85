/** For commands that take a while: a progress bar on a terminal, and the handling of Ctrl-C. */

import type { SingleBar } from 'cli-progress'
import { commandProcess, onSignals } from '../base/command-process.ts'
import { printNote } from '../present/print.ts'

/**
 * `format` is a format of cli-progress. No bar is shown if standard error is not a terminal. The terminal keeps its
 * settings, because Ctrl-C may end the process at any time.
 */
export async function withProgress<T>(format: string, work: (bar: SingleBar) => Promise<T> | T): Promise<T> {
  const { SingleBar } = await import('cli-progress')
  const bar = new SingleBar({ format, noTTYOutput: false, linewrap: true, stream: commandProcess().stderr })
  try {
    return await work(bar)
  } finally {
    bar.stop()
  }
}

/** The first Ctrl-C ends the command after what it has begun, and says so; the second ends the program at once. */
export function stopSignal(stopping: string, ended: string): AbortSignal {
  const abort = new AbortController()
  onSignals(['SIGINT', 'SIGTERM'] as const, () => {
    printNote(`\nsallyport: ${abort.signal.aborted ? ended : stopping}\n`)
    if (abort.signal.aborted) process.exit(2)
    abort.abort()
  })
  return abort.signal
}
