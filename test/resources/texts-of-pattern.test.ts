/** A pattern alone is enough to find values that fit it. */
import { expect } from 'chai'
import fc from 'fast-check'
import { patternFault } from '../../src/resources/check/patterns.ts'
import { textsOfPattern } from '../../src/resources/samples/sample-values.ts'
import { runs } from '../runs.ts'

const PIECES = [
  '[A-Z]{3}',
  '\\d',
  '[0-9]{2,4}',
  '(?:ab|c)',
  '\\p{Lu}',
  '[^a-c]',
  'x?',
  '-',
  '\\.',
  '[\\p{L} ]',
  '(?:v[0-9])',
]

describe('texts of a pattern', () => {
  for (const [pattern, first] of [
    ['^[A-Z]{3}$', 'AAA'],
    ['^R[0-9]{6}$', 'R000000'],
    ['^\\+[1-9]\\d{1,14}$', '+10'],
    ['^(?:draft|placed)$', 'draft'],
    ['^\\p{Lu}[\\p{L}\\p{M} -]{0,80}$', 'A'],
    ['^\\p{Script=Greek}+$', 'Ͱ'],
  ] as const) {
    it(`${pattern} is fitted by ${first}`, () => {
      expect(textsOfPattern(pattern)[0]).to.equal(first)
    })
  }

  it('are found for every pattern that a schema may have, two where it has two, and all of them fit', () => {
    const pieces = fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 6 })
    fc.assert(
      fc.property(pieces, (some) => {
        const pattern = `^${some.join('')}$`
        fc.pre(patternFault(pattern) === undefined)
        const texts = textsOfPattern(pattern)
        expect(texts.every((text) => new RegExp(pattern, 'u').test(text))).to.equal(true)
        expect(texts.length, pattern).to.be.greaterThan(some.every((piece) => /^(?:-|\\\.)$/.test(piece)) ? 0 : 1)
      }),
      { numRuns: runs(300) },
    )
  })

  it('are none where a part that has no width decides (negative control)', () => {
    expect(textsOfPattern('^(?!a)(?=b)c$')).to.deep.equal([])
  })
})
