/** Ctrl-C: the first ends the command after what it has begun, the second at once. */
import { tell } from '../../present/print.ts'

export function stopped(): AbortSignal {
  const abort = new AbortController()
  const end = () => {
    if (abort.signal.aborted) {
      tell('\nsallyport: ended at once\n')
      process.exit(2)
    }
    tell('\nsallyport: stopping\n')
    abort.abort()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, end)
  return abort.signal
}
