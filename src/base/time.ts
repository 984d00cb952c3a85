/** Moments in the form of the policy files (`until=`): RFC 3339, always with an offset. */
import ms, { type StringValue } from 'ms'
import { daysIn } from './instant.ts'

/** A time without an offset would mean another moment on another machine. Seconds may be omitted. */
const TIME =
  /^(?<year>\d{4})-(?<month>\d{2})-(?<day>\d{2})T(?<hour>\d{2}):(?<minute>\d{2})(:\d{2}(\.\d+)?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/

/** Milliseconds since the epoch; undefined for an impossible moment, such as 30 February. */
export function parseTime(text: string): number | undefined {
  const { year, month, day, hour } = TIME.exec(text)?.groups ?? {}
  if (year === undefined || hour === '24' || Number(day) > daysIn(Number(year), Number(month))) return undefined
  const time = Date.parse(text)
  return Number.isNaN(time) ? undefined : time
}

/** In UTC, whole seconds without a fraction. */
export function timeText(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace('.000Z', 'Z')
}

/** Tells users what `readDuration` takes. */
export const DURATION_FORM = 'It is a whole number and a unit, as in 90s, 10m, 12h or 30d.'

/** Milliseconds; undefined for anything else. */
export function readDuration(text: string): number | undefined {
  return /^[1-9]\d{0,5}[smhd]$/.test(text) ? ms(text as StringValue) : undefined
}

/** The form that `readDuration` reads, in the largest unit that gives a whole number. */
export function durationText(milliseconds: number): string {
  const unit = (['d', 'h', 'm', 's'] as const).find((one) => milliseconds % ms(`1${one}`) === 0) ?? 's'
  return `${Math.round(milliseconds / ms(`1${unit}`))}${unit}`
}
