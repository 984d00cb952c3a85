/**
 * Logs faults that requests meet: each fault once when it begins and once when it has ended, because a client can
 * repeat a request as often as it likes. The decision log contains the answer to each request.
 */
import type { Logger } from 'pino'

/** A fault has ended when no request has met it for this time. */
const QUIET_MS = 60_000
/** A message can contain parts that clients choose; beyond this many different faults, all others count as one. */
const MOST_AT_ONCE = 100

export interface FaultLog {
  /** `err` is what was thrown, if anything was. */
  note(fault: LoggedFault, message: string): void
  /** Logs how often the current faults occurred. */
  close(): void
}

interface LoggedFault {
  readonly problem?: string | undefined
  readonly err: unknown
  readonly [field: string]: unknown
}

interface Lasting {
  readonly first: Readonly<Record<string, unknown>>
  times: number
  lastAt: number
  readonly ending: NodeJS.Timeout
}

export function createFaultLog(log: Logger, quietMs = QUIET_MS): FaultLog {
  const lasting = new Map<string, Lasting>()

  const end = (key: string) => {
    const found = lasting.get(key)
    if (!found) return
    clearTimeout(found.ending)
    lasting.delete(key)
    const { first, times, lastAt } = found
    if (times > 1) log.warn({ ...first, times, lastAt: new Date(lastAt).toISOString() }, 'a fault has ended')
  }

  return {
    note(fault, message) {
      const own = keyOf(fault, message)
      const key = lasting.has(own) || lasting.size < MOST_AT_ONCE ? own : ''
      const known = lasting.get(key)
      if (known) {
        known.times += 1
        known.lastAt = Date.now()
        known.ending.refresh()
        return
      }
      log.error(fault, message)
      const ending = setTimeout(end, quietMs, key).unref()
      lasting.set(key, { first: headOf(fault, message), times: 1, lastAt: Date.now(), ending })
    },
    close: () => {
      for (const key of [...lasting.keys()]) end(key)
    },
  }
}

/** Two faults with the same message are one, whichever request met them. */
function keyOf({ problem, err }: LoggedFault, message: string): string {
  const said: unknown[] = [message, problem]
  for (let cause = err; cause instanceof Error && said.length < 8; cause = cause.cause) {
    said.push(cause.name, cause.message)
  }
  return JSON.stringify(said)
}

/** The members that the last line repeats from the first one, so that a search finds both. */
function headOf({ requestId, traceId, problem, err }: LoggedFault, message: string): Readonly<Record<string, unknown>> {
  return { requestId, traceId, problem, fault: message, cause: err instanceof Error ? err.message : undefined }
}
