/** The option --at: the time that a command is about, because rules and blocks may end. */
import { MOMENT_FORMS, readMoment, timeFault } from '../../base/time.ts'
import { ToolError } from '../load-policy.ts'

/** Milliseconds since the epoch. Throws ToolError for text that is not a time. */
export function timeOf(at: string | undefined, now: number): number {
  const time = at === undefined ? now : readMoment(at, Date.now())
  if (time !== undefined) return time
  throw new ToolError(`--at: ${timeFault(at ?? '')}: write ${MOMENT_FORMS}`)
}
