/** A pattern is taken only when no input can make it slow; each list is the other's negative control. */
import { expect } from 'chai'
import fc from 'fast-check'
import { isSafePattern } from 'redos-detector'
import { isSimple, patternFault } from '../../src/resources/check/patterns.ts'
import { inTurn, runs, soak } from '../runs.ts'

const EXPONENTIAL = [
  '^(a+)+$',
  '^(a|a)*$',
  '(\\d+)*x',
  '^([a-zA-Z0-9_.-]+)+@x$',
  '^(([a-z])+.)+[A-Z]([a-z])+$',
  '^(\\w+\\s?)*$',
  '^(?=(a+)+$)',
  '^(?:\\p{L}+|\\p{Lu}+)*$',
  '^(?:\\d|[0-9])+$',
  '^(a|b|ab)*c$',
  '^(?:\\u{61}|a)*$',
  '^(?:a?){30}a{30}$',
]

const POLYNOMIAL = [
  '^.*a.*a.*a$',
  '\\s+$',
  'a+b',
  '^(.*)@(.*)\\.(.*)$',
  '^[a-z]*[a-z]*$',
  '^(a*)\\1b$',
  '^a{0,500}a{0,500}$',
  '^[\\p{Lu}]*\\p{L}*$',
  '^\\d*\\.?\\d+$',
]

/** What the detector takes for safe and isn't (measured). */
const UNSEEN = ['(?<=(a+)+)b', '^(?:b+)+(?=x)', '^(?:b*b+)+\\b', '^(?:c*?c{1,2}){1,2}^']

/** What can't be looked into is refused, whether it is slow or not. */
const DOUBTFUL = [
  '^(?<!-)a$',
  '^(?<year>\\d{4})$',
  '^(?i:a)$',
  '^(?!-)[a-z-]*$',
  '^a\\b',
  '^(a)\\1$',
  `^${'[a-z]'.repeat(101)}$`,
]

const FAST = [
  '^[A-Z]{3}$',
  '^[^\\p{Cc}\\p{Cs}]*$',
  '^[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*$',
  '^[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\\.[A-Za-z0-9-]+)+$',
  '^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z]{2,63}$',
  '^\\+[1-9]\\d{1,14}$',
  '^#[0-9a-f]{6}$',
  '^\\d{4}-\\d{2}-\\d{2}$',
  '^(?:draft|placed)$',
  "^\\p{L}[\\p{L}\\p{M} '-]{0,80}$",
  '^(?:https?)://[a-z0-9.-]+(?::\\d{1,5})?(?:/\\S*)?$',
  '^v\\d+\\.\\d+\\.\\d+$',
  '^\\S(?:.*\\S)?$',
  '^.{1,20000}$',
  '^[a-z]',
  'foo',
  '^[\\^(?=)\\]b]+\\\\b\\^\\(?$',
]

describe('a pattern in a schema', () => {
  for (const pattern of inTurn([...EXPONENTIAL, ...POLYNOMIAL, ...UNSEEN, ...DOUBTFUL], soak(1, 2))) {
    it(`is refused: ${pattern.slice(0, 60)}`, () => {
      expect(patternFault(pattern)).to.equal('pattern-slow')
    })
  }
  for (const pattern of FAST) {
    it(`is taken: ${pattern}`, () => expect(patternFault(pattern)).to.equal(undefined))
  }
  for (const pattern of ['[', '^(a', '\\-', 'a**', '\\p{Nothing}']) {
    it(`is no regular expression: ${pattern}`, () => expect(patternFault(pattern)).to.equal('pattern-syntax'))
  }
})

describe('a simple pattern, for which nothing is searched', () => {
  const one = fc.constantFrom(
    'a',
    '-',
    '.'.padStart(2, '\\'),
    '\\d',
    '\\p{L}',
    '[a-z]',
    '[^x]',
    '[\\]a(|*]',
    '[\\s\\S]',
  )
  const fixed = fc.tuple(one, fc.constantFrom('', '', '{2}', '{15}')).map((parts) => parts.join(''))
  const last = fc
    .tuple(one, fc.constantFrom('', '*', '+', '?', '{2,5}', '{0,400}', '{3,}'))
    .map((parts) => parts.join(''))
  const simple = fc.tuple(fc.array(fixed, { maxLength: 5 }), last).map(([before, end]) => `^${before.join('')}${end}$`)

  it('is one that the search finds safe', () => {
    fc.assert(
      fc.property(simple, (pattern) => {
        expect(isSimple(pattern), pattern).to.equal(true)
        expect(isSafePattern(pattern, { unicode: true, maxScore: 50, maxSteps: 8_000 }).safe, pattern).to.equal(true)
      }),
      { numRuns: runs(500) },
    )
  })

  for (const pattern of [...EXPONENTIAL, ...POLYNOMIAL, ...UNSEEN, ...DOUBTFUL.slice(0, -1), '^a*b$', 'a*$', '^a*?$']) {
    it(`is not ${pattern}`, () => expect(isSimple(pattern)).to.equal(false))
  }
})
