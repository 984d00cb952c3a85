/**
 * The clock of a zone shows one of these hours: `{ days: mon-fri, from: "08:00", to: "18:00", zone: Europe/Berlin }`.
 * `from` counts, `to` doesn't. `to` before `from` runs over midnight and belongs to the day on which it began. An hour
 * that the clocks repeat counts twice; an hour that they skip never comes.
 */

import { didYouMean } from '../../base/did-you-mean.ts'
import type { ConditionFault, ConditionKind } from './condition-kind.ts'

export interface Hours {
  readonly kind: 'hours'
  readonly name: string
  /** Ascending; 0 for Monday. */
  readonly days: readonly number[]
  /** Minutes from midnight. */
  readonly from: number
  /** Minutes from midnight, 1 to 1440; not above `from` where it runs over midnight. */
  readonly to: number
  readonly zone: string
}

interface HoursForm {
  readonly days: string
  readonly from: string
  readonly to: string
  readonly zone: string
}

const DAY_MINUTES = 24 * 60

export const hours: ConditionKind<Hours, HoursForm> = {
  isForm: (form): form is HoursForm => 'zone' in form,
  needsCaller: false,
  parse(name, form, fault) {
    const days = parseDays(form.days, fault)
    const from = parseTimeOfDay('from', form.from, fault)
    const to = parseTimeOfDay('to', form.to, fault)
    if (!clockOf(form.zone)) {
      fault(['zone'], 'time-zone', `\`${form.zone}\` is not a time zone`, oneNamed(form.zone))
      return undefined
    }
    if (!days || from === undefined || to === undefined) return undefined
    if (from === to) {
      fault(['to'], 'hours-empty', '`from` and `to` are the same time', 'for whole days, write "00:00" to "24:00"')
      return undefined
    }
    return { kind: 'hours', name, days, from, to: to === 0 ? DAY_MINUTES : to, zone: form.zone }
  },
  holds(condition, { now }) {
    const { day, minute } = clockOf(condition.zone)?.read(now) ?? {}
    return day !== undefined && minute !== undefined && isOpen(condition, day, minute)
  },
  describe(condition) {
    const { days, from, to, zone } = formOf(condition)
    return `the clock of ${zone} shows ${from} to ${to} on ${days}${condition.to < condition.from ? ', over midnight' : ''}`
  },
  meaning: ({ days, from, to, zone }) => JSON.stringify(['hours', days, from, to, clockOf(zone)?.zone ?? zone]),
  /** Of one zone only. Between two ends of either nothing changes. */
  isWithin(one, other) {
    if (clockOf(one.zone)?.zone !== clockOf(other.zone)?.zone) return false
    const minutes = [0, one.from, one.to, other.from, other.to].filter((minute) => minute < DAY_MINUTES)
    return DAYS.keys().every((day) =>
      minutes.every((minute) => !isOpen(one, day, minute) || isOpen(other, day, minute)),
    )
  },
  /** `from` and `to` exchanged, one day more or fewer at the end, another zone. */
  mistakes(condition) {
    const form = formOf(condition)
    const { days, zone } = condition
    const last = days.at(-1) ?? 0
    const next = (last + 1) % 7
    const more = days.includes(next) ? [] : [{ ...form, days: daysText([...days, next].sort()) }]
    const fewer = days.length < 2 ? [] : [{ ...form, days: daysText(days.slice(0, -1)) }]
    const exchanged = form.to === '24:00' ? [] : [{ ...form, from: form.to, to: form.from }]
    const elsewhere = clockOf(zone)?.zone === 'UTC' ? [] : [{ ...form, zone: 'UTC' }]
    return [...exchanged, ...more, ...fewer, ...elsewhere]
  },
}

function isOpen({ days, from, to }: Hours, day: number, minute: number): boolean {
  if (from < to) return days.includes(day) && from <= minute && minute < to
  return minute < to ? days.includes((day + 6) % 7) : days.includes(day) && from <= minute
}

/** `mon-fri`, `mon,wed`, `sat`; `sun-thu` runs over the end of the week. */
function parseDays(text: string, fault: ConditionFault): readonly number[] | undefined {
  const found = new Set<number>()
  for (const part of text.split(',')) {
    const ends = part.split('-').map((name) => dayNumber(name.trim()))
    const [first, last = first] = ends
    if (first === undefined || last === undefined || ends.includes(undefined) || ends.length > 2) {
      const hint = `write mon-fri, sat or mon,wed,fri${didYouMean(part.trim(), DAYS)}`
      fault(['days'], 'day-names', `\`${part.trim()}\` is not a day or a range of days`, hint)
      return undefined
    }
    for (let day = first; ; day = (day + 1) % 7) {
      found.add(day)
      if (day === last) break
    }
  }
  return [...found].sort()
}

function dayNumber(name: string): number | undefined {
  const index = DAYS.indexOf(name)
  return index < 0 ? undefined : index
}

/** Minutes from midnight; `24:00` is the end of the day. */
function parseTimeOfDay(member: 'from' | 'to', text: string, fault: ConditionFault): number | undefined {
  const { hour, minute } = /^(?<hour>[01]\d|2[0-3]):(?<minute>[0-5]\d)$/.exec(text)?.groups ?? {}
  if (hour !== undefined) return Number(hour) * 60 + Number(minute)
  if (member === 'to' && text === '24:00') return DAY_MINUTES
  fault([member], 'time-of-day', `\`${text}\` is not a time of the day`, 'write hours and minutes, as in "08:00"')
  return undefined
}

function oneNamed(zone: string): string {
  return /^[+-]|^(UTC|GMT)[+-]/i.test(zone)
    ? 'name a zone that knows its summer time, as in Europe/Berlin'
    : `write its name in the IANA database, as in Europe/Berlin${didYouMean(zone, Intl.supportedValuesOf('timeZone'))}`
}

function formOf({ days, from, to, zone }: Hours): HoursForm {
  return { days: daysText(days), from: timeText(from), to: timeText(to), zone }
}

/** Neighbouring days as `mon-fri`. */
function daysText(days: readonly number[]): string {
  const runs: number[][] = []
  for (const day of days) {
    const run = runs.at(-1)
    if (run?.at(-1) === day - 1) run.push(day)
    else runs.push([day])
  }
  const name = (day: number | undefined) => DAYS[day ?? 0] ?? ''
  return runs.map((run) => (run.length < 2 ? name(run[0]) : `${name(run[0])}-${name(run.at(-1))}`)).join(',')
}

function timeText(minutes: number): string {
  return `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`
}

// What a clock in a time zone shows: the day of the week and the minute of the day.

interface ClockReading {
  /** 0 for Monday. */
  readonly day: number
  /** From 0 for midnight. */
  readonly minute: number
}

const DAYS: readonly string[] = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']

interface ZoneClock {
  readonly zone: string
  read(now: number): ClockReading
}

const MINUTE_MS = 60_000

/** Making one takes much longer than reading it. Only zones that Intl knows are kept, so there are a few hundred. */
const clocks = new Map<string, ZoneClock>()

/** Undefined for a zone that Intl doesn't know, or that is only an offset. */
function clockOf(zone: string): ZoneClock | undefined {
  const known = clocks.get(zone)
  if (known) return known
  const made = makeClock(zone)
  if (made) clocks.set(zone, made)
  return made
}

/** Reads the formatter once for each minute: the offset of a zone changes only between two minutes. */
function makeClock(zone: string): ZoneClock | undefined {
  const format = formatterOf(zone)
  if (!format) return undefined
  let last = Number.NaN
  let reading: ClockReading = { day: 0, minute: 0 }
  return {
    zone: format.resolvedOptions().timeZone,
    read(now) {
      const minute = Math.floor(now / MINUTE_MS)
      if (minute !== last) {
        reading = readingOf(format.formatToParts(minute * MINUTE_MS))
        last = minute
      }
      return reading
    },
  }
}

function formatterOf(zone: string): Intl.DateTimeFormat | undefined {
  if (!/^[A-Za-z]/.test(zone)) return undefined
  try {
    const parts = { weekday: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
    return new Intl.DateTimeFormat('en-US', { ...parts, timeZone: zone })
  } catch {
    return undefined
  }
}

function readingOf(parts: readonly Intl.DateTimeFormatPart[]): ClockReading {
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.find((one) => one.type === type)?.value ?? ''
  const day = DAYS.indexOf(part('weekday').toLowerCase())
  if (day < 0) throw new Error(`Intl wrote no day that is known: ${JSON.stringify(parts)}`)
  return { day, minute: Number(part('hour')) * 60 + Number(part('minute')) }
}
