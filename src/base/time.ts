/** Moments (RFC 3339): in the data of clients, in the policy files (`until=`), and as people write them in commands. */
import ms, { type StringValue } from 'ms'

/**
 * The instant of an RFC 3339 date-time, in UTC with three digits of a second (further ones cut off); undefined for any
 * other text, a day that its month lacks, a leap second, an offset beyond 14 hours, and the first and last day of
 * four-digit years.
 */
export function instantOf(text: string): string | undefined {
  const parts = DATE_TIME.exec(text.toUpperCase())?.groups
  if (!parts || parts.date === '0000-01-01' || parts.date === '9999-12-31') return undefined
  const { year, month, day, hour, minute, second, fraction = '', sign, offsetHour = '0', offsetMinute = '0' } = parts
  const inRange = [
    [month, 1, 12],
    [day, 1, daysIn(Number(year), Number(month))],
    [hour, 0, 23],
    [minute, 0, 59],
    [offsetHour, 0, 14],
    [offsetMinute, 0, 59],
  ] as const
  if (inRange.some(([digits, least, most]) => Number(digits) < least || Number(digits) > most)) return undefined
  const offset = (Number(offsetHour) * 60 + Number(offsetMinute)) * (sign === '-' ? -1 : 1)
  const at = new Date(0)
  at.setUTCFullYear(Number(year), Number(month) - 1, Number(day))
  at.setUTCHours(Number(hour), Number(minute) - offset, Number(second), Number(`${fraction}000`.slice(0, 3)))
  return at.toISOString()
}

export function currentTime(): Date {
  return new Date()
}

/** Milliseconds since some time, whatever people do to the clock. */
export const monotonicMs: () => number = performance.now.bind(performance)

let [lastTime, lastText] = [Number.NaN, '']

/** `toISOString`, kept for the others who ask in the same millisecond. */
export function textOfTime(time: Date): string {
  const milliseconds = time.getTime()
  if (milliseconds !== lastTime) [lastTime, lastText] = [milliseconds, time.toISOString()]
  return lastText
}

/** `Date` reads 30 February as 2 March. Day 0 of the next month is the last day of this one. */
function daysIn(year: number, month: number): number {
  const last = new Date(0)
  last.setUTCFullYear(year, month, 0)
  return last.getUTCDate()
}

const DATE_TIME =
  /^(?<date>(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d))[T ](?<hour>\d\d):(?<minute>\d\d):(?<second>[0-5]\d)(?:\.(?<fraction>\d+))?(?:Z|(?<sign>[+-])(?<offsetHour>\d\d):(?<offsetMinute>\d\d))$/

// The bounds of a condition on times as texts, in the form in which engines keep instants.

/** Both bounds are strict, and kept instants are whole milliseconds. */
export function instantBounds({ after, before }: { readonly after?: number; readonly before?: number }): {
  readonly after?: string
  readonly before?: string
} {
  return {
    ...(after !== undefined && { after: instantText(Math.floor(after)) }),
    ...(before !== undefined && { before: instantText(Math.ceil(before)) }),
  }
}

const FIRST_INSTANT = Date.parse('0000-01-01T00:00:00Z')
const LAST_INSTANT = Date.parse('9999-12-31T23:59:59.999Z')

/** No stored instant lies on the first or the last day, so a bound beyond them means the same as one of them. */
function instantText(milliseconds: number): string {
  return new Date(Math.min(Math.max(milliseconds, FIRST_INSTANT), LAST_INSTANT)).toISOString()
}

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

/** For messages: what `readMoment` takes. */
export const MOMENT_FORMS =
  'a time with an offset, like 2026-12-04T18:00:00Z, a day (its beginning in UTC), like 2026-12-04, or `now`, ' +
  '`today`, `yesterday` or `tomorrow`'

/** A time that a person writes in a command, in milliseconds since the epoch; undefined for other texts. */
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

/** For messages: what `readDuration` takes. */
export const DURATION_FORM = 'It is a whole number and a unit, as in 90s, 10m, 12h or 30d.'

/** Milliseconds; undefined for anything else. */
export function readDuration(text: string): number | undefined {
  return /^[1-9]\d{0,5}[smhd]$/.test(text) ? ms(text as StringValue) : undefined
}

/** In the largest unit that gives a whole number: the form that `readDuration` reads, and years, as `x-history` has. */
export function durationText(milliseconds: number): string {
  const unit = (['y', 'd', 'h', 'm', 's'] as const).find((one) => milliseconds % ms(`1${one}`) === 0) ?? 's'
  return `${Math.round(milliseconds / ms(`1${unit}`))}${unit}`
}
