/** Ctrl-C: the first ends the command after what it has begun, the second at once. */
import { onSignals } from '../../base/command-process.ts'
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
  onSignals(['SIGINT', 'SIGTERM'] as const, end)
  return abort.signal
}
