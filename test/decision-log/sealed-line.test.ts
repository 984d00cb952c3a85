/** Records with sealed parts: what the tree signs is the same before and after an erasure, and changes with all else. */
import { expect } from 'chai'
import fc from 'fast-check'
import { type DecisionRecord, MASKED, parseRecord } from '../../src/decision-log/decision-record.ts'
import { lineText } from '../../src/decision-log/log-files.ts'
import { recordLine, withSequence } from '../../src/decision-log/record-line.ts'
import {
  erasedSeal,
  isHalfErased,
  type PersonalPart,
  personalParts,
  signedText,
} from '../../src/decision-log/sealed-line.ts'
import { runs } from '../runs.ts'

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.constantFrom(
    '',
    'alice',
    '","sealed":"',
    `,"sealed":"${'A'.repeat(32)}",`,
    `,"erasedFacts":"${'B'.repeat(43)}"`,
    '}',
  ),
)
const name = fc.oneof(text, fc.constantFrom('sealed', 'erased', 'sealedFacts', 'erasedFacts', 'write', 'who'))
const value = fc.oneof(text, fc.integer(), fc.constant(null), fc.constantFrom('A'.repeat(32), 'B'.repeat(43)))
const facts = fc.record({ object: fc.dictionary(name, fc.oneof(value, fc.dictionary(name, value, { maxKeys: 2 }))) })
const personal = {
  address: text,
  subject: text,
  objectId: text,
  facts,
  signedIn: fc.record({ acr: text }),
  asked: fc.array(fc.record({ subject: text, decision: fc.boolean(), facts }), { maxLength: 2 }),
}

const anyRecord = fc.record(
  {
    time: fc.constant('2026-11-29T10:00:00.000Z'),
    requestId: fc.uuid(),
    revision: fc.constant('0123456789abcdef'),
    method: text,
    roles: fc.array(text, { maxLength: 2 }),
    outcome: fc.constant('allowed'),
    status: fc.integer({ min: 100, max: 599 }),
    microseconds: fc.nat(),
    ...personal,
  },
  { requiredKeys: ['time', 'requestId', 'revision', 'method', 'outcome', 'status', 'microseconds'] },
) as fc.Arbitrary<DecisionRecord>

const anyLine = fc.tuple(anyRecord, fc.option(fc.nat())).map(([record, write]) => ({
  record,
  line: write === null ? recordLine(record) : withSequence(recordLine(record), write),
}))

const erased = (line: string, part: PersonalPart) => {
  const bytes = Buffer.from(line)
  bytes.fill(' ', part.offset, part.offset + part.bytes)
  bytes.write(erasedSeal(part), part.offset)
  return bytes
}

describe('a record with sealed parts', () => {
  it('says the same as its record, whatever stands in it', () => {
    fc.assert(
      fc.property(anyRecord, (record) => {
        const { sealed, sealedFacts, ...read } = JSON.parse(recordLine(record))
        const { asked, ...rest } = JSON.parse(JSON.stringify(record))
        expect(read).to.deep.include({ record: 'decision', ...rest })
        expect(asked?.length).to.equal(read.asked?.length)
        const isSealed = ['address', 'subject', 'signedIn'].some((one) => one in rest)
        expect(sealed !== undefined).to.equal(isSealed)
        expect(sealedFacts !== undefined).to.equal(
          ['objectId', 'facts'].some((one) => one in rest) || asked !== undefined,
        )
      }),
      { numRuns: runs(3000) },
    )
  })

  it('is signed by the same text whichever parts are erased, and also while an erasure stands still', () => {
    fc.assert(
      fc.property(anyLine, fc.boolean(), fc.nat(), ({ line }, both, at) => {
        const signed = signedText(line)
        let now = line
        for (const { name } of personalParts(line).slice(both ? 0 : 1)) {
          const part = personalParts(now).find((one) => one.name === name)
          if (!part) throw new Error('the part is gone')
          const whole = erased(now, part)
          const half = Buffer.from(now)
          half.write(erasedSeal(part), part.offset)
          const cut = part.offset + erasedSeal(part).length
          half.fill(' ', cut, Math.min(part.offset + part.bytes, cut + (at % part.bytes)))
          expect(signedText(lineText(half))).to.equal(signed)
          const found = personalParts(lineText(half)).find((one) => one.name === name)
          expect([found?.offset, found?.bytes]).to.deep.equal([part.offset, part.bytes])
          now = whole.toString()
          expect(whole.length).to.equal(Buffer.byteLength(line))
          expect(signedText(now)).to.equal(signed)
          expect(personalParts(now).some(isHalfErased)).to.equal(false)
          expect(personalParts(now).find((one) => one.name === name)?.text).to.equal(undefined)
        }
        expect(() => JSON.parse(now)).not.to.throw()
      }),
      { numRuns: runs(3000) },
    )
  })

  it('is signed by another text after any other change', () => {
    let tried = 0
    fc.assert(
      fc.property(
        anyLine,
        fc.nat(),
        fc.string({ unit: 'grapheme', minLength: 1, maxLength: 3 }),
        ({ line }, at, added) => {
          const place = at % line.length
          for (const changed of [
            line.slice(0, place) + added + line.slice(place),
            line.slice(0, place) + line.slice(place + 1),
            line.slice(0, place) + added + line.slice(place + added.length),
          ]) {
            if (changed.toWellFormed() === line.toWellFormed() || changed.includes('\n')) continue
            tried += 1
            expect(signedText(changed.toWellFormed())).not.to.equal(signedText(line))
          }
        },
      ),
      { numRuns: runs(10_000) },
    )
    expect(tried).to.be.greaterThan(100)
  })

  it('reads as masked where it is erased, so nothing is decided again by what is missing', () => {
    const line = recordLine({
      time: '2026-11-29T10:00:00.000Z',
      requestId: '0190b2c4-7d1e-7000-8000-000000000000',
      revision: '0123456789abcdef',
      method: 'GET',
      outcome: 'allowed',
      status: 200,
      microseconds: 1,
      address: '127.0.0.1',
      subject: 'alice',
      objectId: '7',
      facts: { object: { owner: 'alice' } },
    })
    const gone = personalParts(line).reduce((text, { name }) => {
      const part = personalParts(text).find((one) => one.name === name)
      return part ? erased(text, part).toString() : text
    }, line)
    expect(gone).not.to.contain('alice').and.not.to.contain('127.0.0.1')
    expect(parseRecord(gone)).to.include({ subject: MASKED, address: MASKED, objectId: MASKED, cut: true })
    expect(parseRecord(line)).to.include({ subject: 'alice', objectId: '7' })
  })

  it('has other seals each time, so equal values have no equal commitments', () => {
    const record = { subject: 'alice' } as DecisionRecord
    const commitments = Array.from({ length: 50 }, () => personalParts(recordLine(record))[0]?.commitment)
    expect(new Set(commitments).size).to.equal(50)
  })
})
