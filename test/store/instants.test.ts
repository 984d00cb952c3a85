/** A text means the same instant in memory and in SQL, or none in both (RFC 3339 section 5.6). */
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import fc from 'fast-check'
import { instantOf } from '../../src/base/time.ts'
import { instantOfText } from '../../src/store/sql/instant-of-text.ts'
import { drawing, runs } from '../runs.ts'

const RUNS = { numRuns: runs(6000) }

const digits = (most: number, length: number) => fc.nat(most).map((number) => String(number).padStart(length, '0'))

/** Years around which leap days fall, and the ends of four digits. */
const year = fc.constantFrom('0000', '0001', '0004', '1900', '2000', '2023', '2024', '2026', '2100', '9998', '9999')

const date = fc.tuple(year, digits(13, 2), fc.oneof(digits(32, 2), fc.constantFrom('28', '29', '30', '31')))

const time = fc
  .tuple(digits(25, 2), digits(61, 2), digits(61, 2), fc.constantFrom('', '', '.', '.5', '.0004', '.9999', '.x'))
  .map(([hour, minute, second, fraction]) => `${hour}:${minute}:${second}${fraction}`)

const offset = fc.oneof(
  fc.constantFrom('Z', 'Z', 'z', '', '+0100', '+1:00', ' Z'),
  fc.tuple(fc.constantFrom('+', '-'), digits(16, 2), digits(61, 2)).map(([sign, hour, min]) => `${sign}${hour}:${min}`),
)

const randomText = fc
  .tuple(date, fc.constantFrom('T', 'T', 't', ' ', '  ', ''), time, offset)
  .map(([parts, between, clock, zone]) => `${parts.join('-')}${between}${clock}${zone}`)

describe('the instant of a text', () => {
  let database: DatabaseSync
  before(() => {
    database = new DatabaseSync(':memory:')
  })
  after(() => database.close())

  function inSql(text: string, expression = instantOfText('1', 'text')): string | undefined {
    const row = database.prepare(`select ${expression} as instant from (select ? as text)`).get(text)
    return typeof row?.instant === 'string' ? row.instant : undefined
  }

  it('is the same in memory and in SQL', async () => {
    let met = 0
    await drawing(
      () =>
        fc.assert(
          fc.property(randomText, (text) => {
            const instant = instantOf(text)
            if (instant !== undefined) met += 1
            expect(inSql(text), text).to.equal(instant)
          }),
          RUNS,
        ),
      () => {
        expect(met).to.be.above(0)
      },
    )
  })

  it('would differ if SQL took 30 February for 2 March', () => {
    const careless = instantOfText('1', 'text').replace(/and date\(.*\n/, '')
    expect(inSql('2026-02-30T00:00:00Z', careless)).to.equal('2026-03-02T00:00:00.000Z')
    expect(inSql('2026-02-30T00:00:00Z')).to.equal(undefined)
  })

  it('exists only for days that the calendar has', () => {
    for (const day of ['2024-02-29', '2000-02-29', '0000-02-29', '2026-02-28', '2026-04-30', '2026-12-31']) {
      expect(instantOf(`${day}T12:00:00Z`)).to.equal(`${day}T12:00:00.000Z`)
    }
    for (const day of ['2026-02-29', '1900-02-29', '2026-02-30', '2026-04-31', '2026-06-31', '2026-01-00']) {
      expect(instantOf(`${day}T12:00:00Z`), day).to.equal(undefined)
    }
  })

  it('does not exist for a leap second', () => {
    expect(instantOf('2016-12-31T23:59:60Z')).to.equal(undefined)
    expect(inSql('2016-12-31T23:59:60Z')).to.equal(undefined)
  })
})
