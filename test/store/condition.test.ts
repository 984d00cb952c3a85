import { expect } from 'chai'
import fc from 'fast-check'
import { type Condition, meets } from '../../src/decide/conditions/condition.ts'
import { simplify } from '../../src/decide/conditions/simplify-condition.ts'
import { all, always, holds, not, some } from './conditions.ts'
import { randomCondition, randomDocument } from './random.ts'

const never: Condition = { kind: 'never' }

const between = (field: string, bounds: { atLeast?: number; atMost?: number }): Condition => {
  return { kind: 'between', field, ...bounds }
}
const time = (field: string, bounds: { after?: number; before?: number }): Condition => {
  return { kind: 'time', field, ...bounds }
}
const member = (where: Condition): Condition => ({ kind: 'related', field: 'p', resource: 'members', by: 'p', where })
const climb = (depth: number, where: Condition): Condition => {
  return { kind: 'climb', field: 'up', resource: 'folders', depth, where }
}

describe('a condition', () => {
  it('holds when the field is one of the values, or is a list that has one of them', () => {
    expect(meets(holds('owner', 'a', 'b'), { owner: 'b' })).to.equal(true)
    expect(meets(holds('owner', 'a', 'b'), { owner: ['c', 'a'] })).to.equal(true)
    expect(meets(holds('owner', 'a', 'b'), { owner: 'c' })).to.equal(false)
    expect(meets(holds('owner', 'a'), { owner: [['a']] })).to.equal(false)
    expect(meets(holds('owner', 'a'), { owner: { a: 'a' } })).to.equal(false)
  })

  it('holds nothing for a field that is missing or null, so its negation is true', () => {
    for (const object of [{}, { owner: null }, { owner: [] }, { owner: [null] }]) {
      expect(meets(holds('owner', 'a'), object)).to.equal(false)
      expect(meets(not(holds('owner', 'a')), object)).to.equal(true)
    }
  })

  it('compares types strictly', () => {
    expect(meets(holds('n', '1'), { n: 1 })).to.equal(false)
    expect(meets(holds('n', 1), { n: '1' })).to.equal(false)
    expect(meets(holds('n', 1), { n: true })).to.equal(false)
    expect(meets(holds('n', true), { n: 1 })).to.equal(false)
    expect(meets(holds('n', 1), { n: 1.0 })).to.equal(true)
  })

  it('holds nothing for text that is not well-formed Unicode', () => {
    expect(meets(holds('a', '\ud800'), { a: '\ud800' })).to.equal(false)
  })

  it('sees own fields only', () => {
    expect(meets(not(holds('toString', 'a')), {})).to.equal(true)
    expect(meets(holds('__proto__', 'a'), JSON.parse('{"__proto__":"a"}'))).to.equal(true)
    expect(meets(holds('length', 0), {})).to.equal(false)
  })

  it('is true for an empty `all`, false for an empty `some` and for no values', () => {
    expect(meets(all(), {})).to.equal(true)
    expect(meets(some(), {})).to.equal(false)
    expect(meets(holds('a'), { a: 'a' })).to.equal(false)
  })
})

describe('the simplest form of a condition', () => {
  const simplest: readonly (readonly [name: string, Condition, Condition])[] = [
    ['drops what is always true', all(always, holds('a', 1), all()), holds('a', 1)],
    ['drops what is never true', some(never, holds('a', 1), some()), holds('a', 1)],
    ['is `never` when one part of all is', all(holds('a', 1), not(always)), never],
    ['is `always` when one part of some is', some(holds('a', 1), not(never)), always],
    ['takes a double negation away', not(not(holds('a', 1))), holds('a', 1)],
    ['joins alternatives about one field', some(holds('a', 1), some(holds('a', 2, 1))), holds('a', 1, 2)],
    [
      'asks once for what every alternative asks',
      some(holds('a', 1), all(holds('b', 1), holds('a', 1))),
      holds('a', 1),
    ],
    [
      'moves a common part out of the alternatives',
      some(all(holds('a', 1), holds('b', 1)), all(holds('c', 1), holds('a', 1))),
      all(holds('a', 1), some(holds('b', 1), holds('c', 1))),
    ],
    ['has no value that nothing can equal', holds('a', '\ud800', Number.NaN), never],
    ['knows that the server keeps text', holds('id', 1, true), never],
    ['knows that no number lies between contradicting bounds', between('n', { atLeast: 2, atMost: 1 }), never],
    [
      'leaves a single number between bounds',
      between('n', { atLeast: 1, atMost: 1 }),
      between('n', { atLeast: 1, atMost: 1 }),
    ],
    ['knows that no bound is a number that is none', between('n', { atLeast: Number.NaN }), never],
    ['knows that no instant lies between two that follow', time('t', { after: 5, before: 6 }), never],
    ['leaves a single instant between two', time('t', { after: 5, before: 7 }), time('t', { after: 5, before: 7 })],
    ['simplifies what a related object must meet', member(all(holds('user', 1), always)), member(holds('user', 1))],
    ['is `never` when no related object can meet it', some(member(never), climb(2, some())), never],
    ['is `never` for a climb without a step', climb(0, always), never],
  ]
  for (const [name, condition, expected] of simplest) {
    it(name, () => expect(simplify(condition)).to.deep.equal(expected))
  }

  it('means the same for every object', () => {
    fc.assert(
      fc.property(randomCondition, fc.array(randomDocument, { minLength: 1, maxLength: 5 }), (condition, documents) => {
        for (const document of documents) {
          const object = { id: 'id-1', ...document }
          expect(meets(simplify(condition), object)).to.equal(meets(condition, object))
        }
      }),
      { numRuns: 500 },
    )
  })

  it('is simplest: nothing is left to take away', () => {
    fc.assert(fc.property(randomCondition, (condition) => isSimplest(simplify(condition))))
  })
})

function isSimplest(condition: Condition): boolean {
  if (condition.kind === 'always' || condition.kind === 'never') return true
  if (condition.kind === 'holds') return condition.values.length > 0
  if (condition.kind === 'related' || condition.kind === 'climb') {
    return condition.where.kind === 'always' || isInner(condition.where)
  }
  if (condition.kind === 'present' || condition.kind === 'between' || condition.kind === 'time') return true
  if (condition.kind === 'not') return condition.of.kind !== 'not' && isInner(condition.of)
  return condition.of.length > 1 && condition.of.every((part) => part.kind !== condition.kind && isInner(part))
}

function isInner(condition: Condition): boolean {
  return condition.kind !== 'always' && condition.kind !== 'never' && isSimplest(condition)
}
