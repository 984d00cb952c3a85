/** Which functions of src/ a request runs through, told by V8's own count of calls. */
import { Session } from 'node:inspector/promises'

/** A function, as `file:offset name`; the file is relative to src/. */
export type Traced = ReadonlySet<string>

const SRC = new URL('../../src/', import.meta.url).href

/**
 * The functions that are called each time that the work runs. Timers of the server run beside it, so what not every
 * run calls is not counted.
 */
export async function functionsOf(work: () => Promise<unknown>, times = 12): Promise<Traced> {
  const session = new Session()
  session.connect()
  try {
    await session.post('Profiler.enable')
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
    let found: Traced | undefined
    for (let i = 0; i < times; i++) {
      await session.post('Profiler.takePreciseCoverage')
      await work()
      const { result } = await session.post('Profiler.takePreciseCoverage')
      const called = new Set(
        result
          .filter(({ url }) => url.startsWith(SRC))
          .flatMap(({ url, functions }) =>
            functions
              .filter(({ ranges: [range] }) => range !== undefined && range.count > 0)
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
