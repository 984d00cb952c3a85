/** A period of time, as an auditor names it: a year, a quarter, a month or a day, in UTC. */
import { ToolError } from '../load-policy.ts'

export interface EvidencePeriod {
  /** In milliseconds since the epoch; `until` isn't in it. */
  readonly from: number
  readonly until: number
}

const NAME = /^(?<year>20\d\d)(?:-(?:Q(?<quarter>[1-4])|(?<month>0[1-9]|1[0-2])(?:-(?<day>\d\d))?))?$/
const FORMS = 'write a year, a quarter, a month or a day, like 2026, 2026-Q4, 2026-11 or 2026-11-30'

/** Throws ToolError for another name, and for a period that hasn't begun. */
export function readPeriod(name: string, now: number): EvidencePeriod {
  const { year, quarter, month, day } = NAME.exec(name)?.groups ?? {}
  if (year === undefined) throw new ToolError(`--period is no period: ${FORMS}`)
  const first = quarter ? (Number(quarter) - 1) * 3 : Number(month ?? 1) - 1
  const from = new Date(Date.UTC(Number(year), first, Number(day ?? 1)))
  if (day !== undefined && from.getUTCDate() !== Number(day)) throw new ToolError(`--period is no day: ${FORMS}`)
  if (from.getTime() > now) throw new ToolError(`--period ${name} has not begun: name an earlier one`)
  const until = new Date(from)
  if (day) until.setUTCDate(until.getUTCDate() + 1)
  else if (month) until.setUTCMonth(until.getUTCMonth() + 1)
  else if (quarter) until.setUTCMonth(until.getUTCMonth() + 3)
  else until.setUTCFullYear(until.getUTCFullYear() + 1)
  return { from: from.getTime(), until: until.getTime() }
}

/** The first and the last day; a period that no name has, with its times. */
export function periodText({ from, until }: EvidencePeriod): string {
  const [first, last] = [from, until - 1].map((time) => new Date(time).toISOString())
  const isOfDays = first?.endsWith('T00:00:00.000Z') && last?.endsWith('T23:59:59.999Z')
  return isOfDays ? `${first?.slice(0, 10)} to ${last?.slice(0, 10)}` : `${first} to ${last}`
}
