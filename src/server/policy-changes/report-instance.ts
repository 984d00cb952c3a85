/** Reports to the database which version this process has in force, for `policy status`. */
import { FileError } from '../../base/diagnostic.ts'
import type { LivePolicy } from '../../policy/live/live-policy.ts'
import type { InstanceState } from '../../policy/published/published-source.ts'
import type { PolicyVersions } from '../../store/policy-versions.ts'

const LOOK_MS = 500
const REPORT_EVERY_MS = 5000
const MOST_FAULTS = 5

/** `instance` is shared by its workers. Stops, and forgets the instance, when the returned function is called. */
export function reportInstance(
  instance: string,
  versions: Pick<PolicyVersions, 'note' | 'forget'>,
  told: { readonly policy: LivePolicy; readonly overdue: () => readonly string[] },
): () => Promise<void> {
  const name = `${instance}/${process.pid}`
  let reported = ''
  let reportedAt = Number.NEGATIVE_INFINITY
  /** Two connections may take a note and its end in any order. */
  let noted = Promise.resolve()
  const look = () => {
    const state = JSON.stringify(stateOf(told.policy, told.overdue()))
    const at = performance.now()
    if (state === reported && at - reportedAt < REPORT_EVERY_MS) return
    reported = state
    reportedAt = at
    // A database that doesn't answer is reported by the follower.
    const note = versions.note(name, state).catch(() => {})
    noted = noted.then(() => note)
  }
  const timer = setInterval(look, LOOK_MS)
  timer.unref()
  look()
  return async () => {
    clearInterval(timer)
    await noted
    await versions.forget(name).catch(() => {})
  }
}

function stateOf({ active, faults }: LivePolicy, overdue: readonly string[]): InstanceState {
  const texts = faults.flatMap((fault) => (fault instanceof FileError ? fault.message.split('\n') : [String(fault)]))
  return {
    sequence: active.sequence ?? 0,
    revision: active.revision,
    faults: texts.slice(0, MOST_FAULTS),
    overdue: overdue.slice(0, MOST_FAULTS),
  }
}
