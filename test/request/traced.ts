/** Which functions of src/ a request runs through, told by V8's own count of calls. */
import { Session } from 'node:inspector/promises'

/** A function, as `file:offset name`; the file is relative to src/. */
export type Traced = ReadonlySet<string>

const SRC = new URL('../../src/', import.meta.url).href

/** Runs between two looks at the counts, and looks. */
const RUNS = 20
const LOOKS = 3

/**
 * The functions that are called as often as the work runs. Timers of the server run beside it, and what is kept for a
 * time is read again, but not with each run, however slow the machine is.
 */
export async function functionsOf(work: () => Promise<unknown>): Promise<Traced> {
  const session = new Session()
  session.connect()
  try {
    await session.post('Profiler.enable')
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
    let found: Traced | undefined
    for (let look = 0; look < LOOKS; look++) {
      await session.post('Profiler.takePreciseCoverage')
      for (let run = 0; run < RUNS; run++) await work()
      const { result } = await session.post('Profiler.takePreciseCoverage')
      const called = new Set(
        result
          .filter(({ url }) => url.startsWith(SRC))
          .flatMap(({ url, functions }) =>
            functions
              .filter(({ ranges: [range] }) => range !== undefined && range.count >= RUNS)
              .map(({ functionName, ranges }) => `${url.slice(SRC.length)}:${ranges[0]?.startOffset} ${functionName}`),
          ),
      )
      found = found?.intersection(called) ?? called
    }
    return found ?? new Set()
  } finally {
    session.disconnect()
  }
}

export function filesOf(traced: Traced): ReadonlySet<string> {
  return new Set([...traced].map((one) => one.split(':', 1)[0] ?? ''))
}
