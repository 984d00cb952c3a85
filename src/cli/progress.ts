/** A command that takes a while: a bar on a terminal, and what Ctrl-C does. */
import type { SingleBar } from 'cli-progress'
import { tell } from '../present/print.ts'

/** `format` as cli-progress takes it. There is no bar where standard error is no terminal. */
export async function withProgress<T>(format: string, work: (bar: SingleBar) => Promise<T> | T): Promise<T> {
  const { SingleBar } = await import('cli-progress')
  const bar = new SingleBar({ format, noTTYOutput: false })
  try {
    return await work(bar)
  } finally {
    bar.stop()
  }
}

/** The first Ctrl-C ends the run, which then removes what it made; the second ends the program and leaves that behind. */
export function interrupted(): AbortSignal {
  const abort = new AbortController()
  const end = () => {
    if (abort.signal.aborted) {
      tell('\nsallyport: ended before all that the run had made was removed\n')
      process.exit(2)
    }
    tell('\nsallyport: ending; what the run made is being removed (once more leaves it there)\n')
    abort.abort()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, end)
  return abort.signal
}
