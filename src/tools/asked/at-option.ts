/** The option --at: the time that a command is about, because rules and blocks may end. */
import { parseTime } from '../../base/time.ts'
import { ToolError } from '../load-policy.ts'

/** Milliseconds since the epoch. Throws ToolError for text that is not a time. */
export function timeOf(at: string | undefined, now: number): number {
  const time = at === undefined ? now : parseTime(at)
  if (time !== undefined) return time
  throw new ToolError(`--at is not a time with an offset (\`${at}\`): write it as in 2027-01-31T18:00:00Z`)
}
