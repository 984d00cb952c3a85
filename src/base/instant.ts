/** Date-times of RFC 3339 in the data of clients: an instant, whatever its offset. */

/**
 * The instant of an RFC 3339 date-time, in UTC with three digits of a second (further ones cut off); undefined for any
 * other text, a day that its month lacks, a leap second, an offset beyond 14 hours, and the first and last day of
 * four-digit years.
 */
export function instantOf(text: string): string | undefined {
  const parts = TIME.exec(text.toUpperCase())?.groups
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

let [lastTime, lastText] = [Number.NaN, '']

/** `toISOString`, kept for the others who ask in the same millisecond. */
export function textOfTime(time: Date): string {
  const milliseconds = time.getTime()
  if (milliseconds !== lastTime) [lastTime, lastText] = [milliseconds, time.toISOString()]
  return lastText
}

/** `Date` reads 30 February as 2 March. Day 0 of the next month is the last day of this one. */
export function daysIn(year: number, month: number): number {
  const last = new Date(0)
  last.setUTCFullYear(year, month, 0)
  return last.getUTCDate()
}

const TIME =
  /^(?<date>(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d))[T ](?<hour>\d\d):(?<minute>\d\d):(?<second>[0-5]\d)(?:\.(?<fraction>\d+))?(?:Z|(?<sign>[+-])(?<offsetHour>\d\d):(?<offsetMinute>\d\d))$/
