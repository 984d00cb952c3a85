/** How long something is valid, as people write it on a command line. */
import ms, { type StringValue } from 'ms'

/** What `readDuration` takes, for its users. */
export const DURATION_FORM = 'It is a whole number and a unit, as in 90s, 10m, 12h or 30d.'

/** Milliseconds; undefined for anything else. */
export function readDuration(text: string): number | undefined {
  return /^[1-9]\d{0,5}[smhd]$/.test(text) ? ms(text as StringValue) : undefined
}
