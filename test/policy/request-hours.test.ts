/** Hours hold by the clock of their zone: also over midnight, over the end of the week, and while summer time changes. */
import { expect } from 'chai'
import fc from 'fast-check'
import {
  conditionHolds as holds,
  parseCondition,
  type RequestCondition,
} from '../../src/decide/request-conditions/all-conditions.ts'
import { cpuMs } from '../measure.ts'
import { runs } from '../runs.ts'

const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']
const ZONES = [
  'Europe/Berlin',
  'America/New_York',
  'America/Havana', // changes at midnight
  'Australia/Lord_Howe', // changes by half an hour
  'Asia/Kathmandu',
  'Africa/Casablanca',
  'Pacific/Apia',
  'UTC',
]

interface Form {
  readonly days: string
  readonly from: string
  readonly to: string
  readonly zone: string
}

function hoursOf(form: Form): RequestCondition {
  const parsed = parseCondition('hours', form, (path, code) => {
    throw new Error(`${path.join('/')} ${code}`)
  })
  if (!parsed) throw new Error('it is sound')
  return parsed
}

function holdsAt(form: Form, time: string): boolean {
  return holds(hoursOf(form), { now: Date.parse(time), hasCredentials: true })
}

/** What a calendar and a clock on a wall show. */
function wallOf(now: number, zone: string): { readonly date: number; readonly minute: number } {
  const format = new Intl.DateTimeFormat('en-GB', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' })
  const [, day, month, year, hour, minute] = /^(\d\d)\/(\d\d)\/(\d{4}), (\d\d):(\d\d)$/.exec(format.format(now)) ?? []
  return {
    date: Date.UTC(Number(year), Number(month) - 1, Number(day)) / 86_400_000,
    minute: Number(hour) * 60 + Number(minute),
  }
}

function minutesOf(text: string): number {
  return Number(text.slice(0, 2)) * 60 + Number(text.slice(3))
}

/** All minutes of the windows that began on one of two days, one by one. */
function slowReference({ days, from, to, zone }: Form, now: number): boolean {
  const { date, minute } = wallOf(now, zone)
  const named = new Set(days.split(','))
  return [date - 1, date].some((began) => {
    // 1 January 1970 was a Thursday.
    if (!named.has(DAYS[(began + 3) % 7] ?? '')) return false
    const length = (minutesOf(to) - minutesOf(from) + 1440) % 1440
    return Array.from({ length }, (_, i) => began * 1440 + minutesOf(from) + i).includes(date * 1440 + minute)
  })
}

const timeOfDay = fc
  .tuple(fc.nat(23), fc.constantFrom(0, 0, 1, 15, 30, 59))
  .map(([hour, minute]) => `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`)
const form = fc
  .record({
    days: fc.subarray(DAYS, { minLength: 1 }).map((days) => days.join()),
    from: timeOfDay,
    to: timeOfDay,
    zone: fc.constantFrom(...ZONES),
  })
  .filter(({ from, to }) => from !== to)
/** Days on which some zone changes its clocks, and any others. */
const CHANGES = ['2026-03-08', '2026-03-29', '2026-04-05', '2026-10-04', '2026-10-25', '2026-11-01', '2027-02-07']
const moment = fc.oneof(
  fc.integer({ min: Date.parse('2000-01-01'), max: Date.parse('2040-01-01') }),
  fc
    .tuple(fc.constantFrom(...CHANGES), fc.integer({ min: -12 * 60, max: 36 * 60 }))
    .map(([day, minutes]) => Date.parse(day) + minutes * 60_000),
)

describe('request conditions: hours', () => {
  const night: Form = { days: 'fri', from: '22:00', to: '04:00', zone: 'Europe/Berlin' }
  const office: Form = { days: 'mon-fri', from: '08:00', to: '18:00', zone: 'Europe/Berlin' }
  const early: Form = { days: 'sun', from: '02:30', to: '03:00', zone: 'Europe/Berlin' }
  const cases: readonly [what: string, form: Form, time: string, expected: boolean][] = [
    ['the first minute counts', office, '2026-11-20T07:00:00Z', true],
    ['the moment before it does not', office, '2026-11-20T06:59:59.999Z', false],
    ['the end does not count', office, '2026-11-20T17:00:00Z', false],
    ['the moment before it counts', office, '2026-11-20T16:59:59.999Z', true],
    ['in summer the same clock is an hour earlier', office, '2026-07-17T06:00:00Z', true],
    ['not on a Saturday', office, '2026-11-21T10:00:00Z', false],
    ['early Saturday belongs to Friday', night, '2026-11-21T02:30:00Z', true],
    ['early Friday belongs to Thursday', night, '2026-11-20T02:30:00Z', false],
    ['an hour that the clocks repeat counts the first time', early, '2026-10-25T00:45:00Z', true],
    ['and the second time', early, '2026-10-25T01:45:00Z', true],
    ['an hour that the clocks skip never comes: before', early, '2026-03-29T00:59:59Z', false],
    ['an hour that the clocks skip never comes: after', early, '2026-03-29T01:00:00Z', false],
    ['a week may run over its end', { ...office, days: 'sat-mon' }, '2026-11-22T10:00:00Z', true],
    ['and leaves out the rest', { ...office, days: 'sat-mon' }, '2026-11-24T10:00:00Z', false],
    ['24:00 is the end of the day', { ...office, from: '00:00', to: '24:00' }, '2026-11-20T22:59:59Z', true],
    ['and no later', { ...office, from: '00:00', to: '24:00' }, '2026-11-20T23:00:00Z', false],
  ]
  for (const [what, hours, time, expected] of cases) {
    it(what, () => {
      expect(holdsAt(hours, time)).to.equal(expected)
    })
  }

  it('holds whenever a wall clock and a calendar say so', () => {
    fc.assert(
      fc.property(form, fc.array(moment, { minLength: 1, maxLength: 5 }), (hours, moments) => {
        for (const now of moments) {
          const facts = { now, hasCredentials: false }
          expect(holds(hoursOf(hours), facts), new Date(now).toISOString()).to.equal(slowReference(hours, now))
        }
      }),
      { numRuns: runs(300) },
    )
  })

  it('a clock that forgets summer time would be found', () => {
    const winter = (hours: Form, now: number) => slowReference({ ...hours, zone: 'Etc/GMT-1' }, now)
    const found = fc.check(
      fc.property(form, moment, (hours, now) => {
        const berlin = { ...hours, zone: 'Europe/Berlin' }
        return winter(berlin, now) === holds(hoursOf(berlin), { now, hasCredentials: false })
      }),
      { numRuns: 2000 },
    )
    expect(found.failed).to.equal(true)
  })

  const faulty: readonly [change: Partial<Form>, fault: string][] = [
    [{ to: '08:00' }, 'to hours-empty'],
    [{ from: '00:00', to: '00:00' }, 'to hours-empty'],
    [{ from: '8:00' }, 'from time-of-day'],
    [{ from: '24:00' }, 'from time-of-day'],
    [{ to: '18:60' }, 'to time-of-day'],
    [{ days: 'weekdays' }, 'days day-names'],
    [{ days: 'mon-wed-fri' }, 'days day-names'],
    [{ days: 'mon,' }, 'days day-names'],
    [{ days: '' }, 'days day-names'],
    [{ days: 'Mon' }, 'days day-names'],
    [{ zone: 'Europe/Berlon' }, 'zone time-zone'],
    [{ zone: '+01:00' }, 'zone time-zone'],
    [{ zone: '' }, 'zone time-zone'],
  ]
  for (const [change, fault] of faulty) {
    it(`${JSON.stringify(change)} is refused`, () => {
      const faults: string[] = []
      const parsed = parseCondition('hours', { ...office, ...change }, (path, code) => {
        faults.push(`${path.join('/')} ${code}`)
      })
      expect(parsed).to.equal(undefined)
      expect(faults).to.deep.equal([fault])
    })
  }

  it('a zone that is nearly right is suggested', () => {
    let hint: string | undefined
    parseCondition('hours', { ...office, zone: 'Europe/Berlon' }, (_path, _code, _message, told) => {
      hint = told
    })
    expect(hint).to.contain('did you mean `Europe/Berlin`?')
  })

  it('a request makes no formatter: a hundred thousand answers take less than a second', async () => {
    const condition = hoursOf(office)
    const from = Date.parse('2026-11-20T10:00:00Z')
    const took = await cpuMs(() => {
      for (let i = 0; i < 100_000; i++) holds(condition, { now: from + i, hasCredentials: true })
    })
    expect(took).to.be.lessThan(1000)
  })
})
