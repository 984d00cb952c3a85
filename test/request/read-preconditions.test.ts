/** If-Match and If-None-Match as lists: every list of tags is read back as it was, and anything else is refused at once. */
import type { IncomingMessage } from 'node:http'
import { expect } from 'chai'
import fc from 'fast-check'
import { Problem } from '../../src/base/problems/problem.ts'
import type { TagCondition } from '../../src/server/input/input.ts'
import { readPreconditions } from '../../src/server/stages/validate.ts'
import { cpuMs } from '../measure.ts'

/** RFC 9110 section 8.8.3: etagc. */
const etagc = fc
  .integer({ min: 0x21, max: 0xff })
  .filter((code) => code !== 0x22 && code !== 0x7f)
  .map((code) => String.fromCharCode(code))

const tag = fc.record({ weak: fc.boolean(), opaque: fc.array(etagc, { maxLength: 5 }).map((all) => all.join('')) })

const separator = fc.constantFrom(',', ', ', ' ,', '\t,\t', ' , , ', ',,')

describe('a list of entity tags', () => {
  it('is read back as it was written', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(tag, separator), { minLength: 1, maxLength: 6 }), (tags) => {
        const text = tags.map(([{ weak, opaque }, between]) => `${weak ? 'W/' : ''}"${opaque}"${between}`).join('')
        expect(read(text.trim())).to.deep.equal({ kind: 'listed', tags: tags.map(([one]) => one) })
      }),
    )
  })

  it('is * alone for anything', () => {
    expect(read('*')).to.deep.equal({ kind: 'any' })
  })

  it('anything else is refused as invalid-precondition, and nothing else is thrown', () => {
    const text = fc.string({ unit: fc.constantFrom('"', ',', ' ', 'W/', '*', 'a', '\t', 'é'), maxLength: 12 })
    fc.assert(
      fc.property(text, (value) => {
        try {
          const condition = read(value)
          if (condition?.kind === 'listed') expect(condition.tags.length).to.be.greaterThan(0)
        } catch (error) {
          if (!(error instanceof Problem)) throw error
          expect(error.code).to.equal('invalid-precondition')
        }
      }),
    )
  })

  it('is read in one go, however hostile it is', async () => {
    const took = await cpuMs(() => {
      for (const part of ['"', ' ', ',', 'W/', '" "', '"a" ', ', ', '"",']) {
        try {
          read(part.repeat(16_000 / part.length))
        } catch (error) {
          expect(error).to.be.instanceOf(Problem)
        }
      }
    })
    expect(took).to.be.lessThan(1000)
  })
})

function read(value: string): TagCondition | undefined {
  return readPreconditions({ headers: { 'if-match': value } } as unknown as IncomingMessage).ifMatch
}
