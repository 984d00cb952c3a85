/** Which patterns bound a text, and so need no `maxLength` beside them. */
import { expect } from 'chai'
import fc from 'fast-check'
import { boundsText } from '../../src/resources/schema/bounds.ts'
import { drawing, runs } from '../runs.ts'

const BOUNDED = [
  '^[A-Z]{3}$',
  '^$',
  '^a?b{2,5}$',
  '^(?:ab|c)$',
  '^a$|^b$',
  '(^a$|^b$)',
  '^(\\d{4})-\\1$',
  '^(?=a+)a{1,3}$',
  '^\\p{L}{1,9}$',
]
const UNBOUNDED = [
  '[A-Z]{3}',
  '^[A-Z]{3}',
  '[A-Z]{3}$',
  '^a+$',
  '^a{2,}$',
  '^(?:ab*|c)$',
  '^a$|b$',
  '(?=^a$)',
  '(?:^)?a(?:$)?',
  '',
]

describe('a pattern', () => {
  for (const pattern of BOUNDED) it(`\`${pattern}\` bounds a text`, () => expect(boundsText(pattern)).to.equal(true))
  for (const pattern of UNBOUNDED)
    it(`\`${pattern}\` bounds no text`, () => expect(boundsText(pattern)).to.equal(false))

  it('that bounds a text fits no long one', async () => {
    const atom = fc.constantFrom('a', '[ab]', '.', '\\d', '(?:ab)', '(a|b)', '^', '$', '(?=a)', '(?:^a)', '(?:a$)')
    const part = fc.tuple(atom, fc.constantFrom('', '', '?', '{2}', '{1,3}', '*', '+', '{2,}'))
    const branch = fc
      .tuple(fc.boolean(), fc.array(part, { maxLength: 3 }), fc.boolean())
      .map(([starts, parts, ends]) => {
        const inner = parts.map(([one, count]) => (/^(?:[$^]|\(\?=)/.test(one) ? one : one + count)).join('')
        return `${starts ? '^' : ''}${inner}${ends ? '$' : ''}`
      })
    const pattern = fc.array(branch, { minLength: 1, maxLength: 2 }).map((branches) => branches.join('|'))
    const long = ['a', 'b', '1', 'ab', 'x'].map((text) => text.repeat(60))
    const counts = { bounded: 0, fitting: 0 }
    await drawing(
      () =>
        fc.assert(
          fc.property(pattern, (one) => {
            const fits = long.some((text) => new RegExp(one, 'u').test(text))
            if (fits) counts.fitting++
            if (!boundsText(one)) return
            counts.bounded++
            expect(fits).to.equal(false)
          }),
          { numRuns: runs(1000, 350) },
        ),
      () => {
        expect(Math.min(counts.bounded, counts.fitting)).to.be.greaterThan(20)
      },
    )
  })
})
