/** Which functions of src/ a request runs through, told by V8's own count of calls. */
import { Session } from 'node:inspector/promises'
import { setTimeout as sleep } from 'node:timers/promises'

/** A function, as `file:offset name`; the file is relative to src/. */
export type Traced = ReadonlySet<string>

const SRC = new URL('../../src/', import.meta.url).href

/** Runs between two looks at the counts, and looks. */
const RUNS = 20
const LOOKS = 3
/**
 * What each run calls may fall below the number of runs, because what also happens without the work is taken off twice.
 * What only every second run calls stays below this.
 */
const CALLED_BY_EACH = RUNS * 0.75
/** A server that nobody asks is watched for at least so long: its timers fire some times. */
const IDLE_MS = 350

/**
 * The functions that are called as often as the work runs. Timers of the server run beside it, and what is kept for a
 * time is read again, but not with each run, however slow the machine is. Some timers call a function for each file of a
 * folder, so what is called in the same time without the work is counted twice, and taken off.
 */
export async function functionsOf(work: () => Promise<unknown>): Promise<Traced> {
  const session = new Session()
  session.connect()
  try {
    await session.post('Profiler.enable')
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
    let found: Traced | undefined
    for (let look = 0; look < LOOKS; look++) {
      const started = performance.now()
      const busy = await callsIn(session, async () => {
        for (let run = 0; run < RUNS; run++) await work()
      })
      const idle = await callsIn(session, () => sleep(Math.max(IDLE_MS, performance.now() - started)))
      const called = new Set(
        [...busy].filter(([one, calls]) => calls - 2 * (idle.get(one) ?? 0) >= CALLED_BY_EACH).map(([one]) => one),
      )
      found = found?.intersection(called) ?? called
    }
    return found ?? new Set()
  } finally {
    session.disconnect()
  }
}

async function callsIn(session: Session, during: () => Promise<unknown>): Promise<ReadonlyMap<string, number>> {
  await session.post('Profiler.takePreciseCoverage')
  await during()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  return new Map(
    result
      .filter(({ url }) => url.startsWith(SRC))
      .flatMap(({ url, functions }) =>
        functions.map(({ functionName, ranges: [range] }): [string, number] => [
          `${url.slice(SRC.length)}:${range?.startOffset} ${functionName}`,
          range?.count ?? 0,
        ]),
      ),
  )
}

export function filesOf(traced: Traced): ReadonlySet<string> {
  return new Set([...traced].map((one) => one.split(':', 1)[0] ?? ''))
}
