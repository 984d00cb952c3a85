/** What a clock in a time zone shows: the day of the week and the minute of the day. */

interface ClockReading {
  /** 0 for Monday. */
  readonly day: number
  /** From 0 for midnight. */
  readonly minute: number
}

export const DAYS: readonly string[] = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']

interface ZoneClock {
  readonly zone: string
  read(now: number): ClockReading
}

const MINUTE_MS = 60_000

/** Making one takes much longer than reading it. Only zones that Intl knows are kept, so there are a few hundred. */
const clocks = new Map<string, ZoneClock>()

/** Undefined for a zone that Intl doesn't know, or that is only an offset. */
export function clockOf(zone: string): ZoneClock | undefined {
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
