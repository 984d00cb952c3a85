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

/** What is wrong with a text that `parseTime` refuses, as a sentence without its end. */
export function timeFault(text: string): string {
  return missingDay(text) ?? `\`${text}\` is not a time with an offset (RFC 3339)`
}

/** A sentence without its end about a text that begins with a day like 2027-02-30. */
export function missingDay(text: string): string | undefined {
  const { year, month, day } = DAY.exec(text)?.groups ?? {}
  if (day === undefined) return undefined
  const days = daysIn(Number(year), Number(month))
  const isDay = Number(month) >= 1 && Number(month) <= 12 && Number(day) >= 1 && Number(day) <= days
  return isDay ? undefined : `\`${text}\` names a day that doesn't exist`
}

const DAY = /^(?<year>\d{4})-(?<month>\d{2})-(?<day>\d{2})(?!\d)/
const DAY_MS = 24 * 60 * 60 * 1000

/** Tells users what `readMoment` takes. */
export const MOMENT_FORMS =
  'a time with an offset, like 2026-12-04T18:00:00Z, a day (its beginning in UTC), like 2026-12-04, or `now`, ' +
  '`today`, `yesterday` or `tomorrow`'

/** Milliseconds since the epoch of what a person writes in a command; undefined for anything else. */
export function readMoment(text: string, now: number): number | undefined {
  if (text === 'now') return now
  const days = ['yesterday', 'today', 'tomorrow'].indexOf(text) - 1
  if (days >= -1) return (Math.floor(now / DAY_MS) + days) * DAY_MS
  return parseTime(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : text)
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
