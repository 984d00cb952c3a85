/** The time that a review is about: rules and blocks may end, so that it isn't always now. */
import { parseTime } from '../base/time.ts'
import { ReviewError } from './load-policy.ts'

/** Milliseconds since the epoch. Throws ReviewError for what is no moment. */
export function timeOf(at: string | undefined, now: number): number {
  const time = at === undefined ? now : parseTime(at)
  if (time !== undefined) return time
  throw new ReviewError(`--at takes a time with an offset, as in 2027-01-31T18:00:00Z, not \`${at}\``)
}
