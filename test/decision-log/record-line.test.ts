/** A line of the log is bounded, whatever a caller makes its record tell, and keeps all of a common one. */
import { expect } from 'chai'
import fc from 'fast-check'
import type { AskedRecord, DecisionRecord } from '../../src/decision-log/decision-record.ts'
import { recordLine } from '../../src/decision-log/record-line.ts'
import { runs } from '../runs.ts'

const RECORD: DecisionRecord = {
  time: '2026-01-01T00:00:00.000Z',
  requestId: '00000000-0000-4000-8000-000000000000',
  revision: '0123456789abcdef',
  method: 'POST',
  outcome: 'allowed',
  status: 200,
  microseconds: 1,
}

const asking = (id: string, told: string): AskedRecord => ({
  subject: id,
  resource: 'docs',
  objectId: id,
  action: 'read',
  decision: true,
  facts: { attributes: { team: told } },
})

/** The record, with the facts that its questions share given to each. */
function read(line: string): DecisionRecord {
  const record = JSON.parse(line)
  return {
    ...record,
    ...(record.asked && {
      asked: record.asked.map(({ factsOf, ...one }: AskedRecord) =>
        factsOf === undefined ? one : { ...one, facts: record.asked[factsOf].facts },
      ),
    }),
  }
}

describe('the line of a record', () => {
  it('tells every question of a common batch with its facts, and facts that are alike once', () => {
    const some = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('red', 'blue', 'é\u2028')))
    fc.assert(
      fc.property(some, (questions) => {
        const asked = questions.map(([id, told]) => asking(id, told))
        const line = recordLine({ ...RECORD, asked })
        expect(read(line).asked).to.deep.equal(asked)
        const facts = asked.map((one) => JSON.stringify(one.facts))
        expect(line.split('"facts":')).to.have.length(1 + new Set(facts).size)
      }),
      { numRuns: runs(100) },
    )
  })

  it('is short where a thousand questions tell the same long facts', () => {
    const asked = Array.from({ length: 1000 }, (_, i) => asking(`o${i}`, 'x'.repeat(60_000)))
    const line = recordLine({ ...RECORD, asked })
    expect(line.length).to.be.below(300_000)
    expect(read(line).asked).to.deep.equal(asked)
  })

  it('is bounded where each question tells other long facts, and still tells each decision', () => {
    const asked = Array.from({ length: 1000 }, (_, i) => asking(`${i}${'y'.repeat(1000)}`, `${i}${'x'.repeat(90_000)}`))
    const line = recordLine({ ...RECORD, asked })
    expect(line.length).to.be.below(1_000_000)
    const told = read(line).asked ?? []
    expect(told).to.have.length(1000)
    expect(told.every(({ decision, cut, facts }) => decision && cut && facts === undefined)).to.equal(true)
  })

  it('leaves out the facts of one decision that would make it too long, says so, and keeps shorter ones', () => {
    const long = { ...RECORD, facts: { object: { text: 'x'.repeat(200_000) } } }
    expect(recordLine(long).length).to.be.below(1000)
    expect(read(recordLine(long)).cut).to.equal(true)
    const short = { ...RECORD, facts: { object: { text: 'x'.repeat(2000) } } }
    const { sealedFacts, ...told } = read(recordLine(short))
    expect(told).to.deep.equal({ record: 'decision', ...short })
    expect(sealedFacts).to.match(/^[\w-]{32}$/)
  })
})
