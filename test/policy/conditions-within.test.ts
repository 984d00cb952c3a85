/** Where a condition of requests is said to be within another, each request that meets the first meets the second. */
import { expect } from 'chai'
import fc from 'fast-check'
import {
  conditionHolds,
  isConditionWithin,
  type RequestCondition,
} from '../../src/decide/request-conditions/all-conditions.ts'
import { runs } from '../runs.ts'

const DAY_MINUTES = 24 * 60
const MONDAY = Date.UTC(2026, 10, 16)

const randomHours: fc.Arbitrary<RequestCondition> = fc
  .record({
    kind: fc.constant('hours' as const),
    name: fc.constant('hours'),
    days: fc.subarray([0, 1, 5, 6], { minLength: 1 }),
    from: fc.constantFrom(0, 360, 480, 1320),
    to: fc.constantFrom(300, 420, 1080, DAY_MINUTES),
    zone: fc.constant('UTC'),
  })
  .filter(({ from, to }) => from !== to)

/** One request for each hour of a week, at both of its ends. */
const WEEK = Array.from({ length: 7 * 24 }, (_, hour) => hour * 60).flatMap((minute) =>
  [minute, minute + 59].map((at) => MONDAY + at * (86_400_000 / DAY_MINUTES)),
)

type Within = typeof isConditionWithin

/** Of hours the answer is exact. */
function tellsTheHours(within: Within) {
  return fc.property(randomHours, randomHours, (one, other) => {
    const isWithin = WEEK.every(
      (now) =>
        !conditionHolds(one, { now, hasCredentials: true }) || conditionHolds(other, { now, hasCredentials: true }),
    )
    expect(within(one, other)).to.equal(isWithin)
  })
}

const PAIRS: readonly (readonly [RequestCondition, RequestCondition, boolean])[] = [
  [network('192.0.2.0/24'), network('192.0.0.0/16'), true],
  [network('192.0.0.0/16'), network('192.0.2.0/24'), false],
  [network('192.0.2.0/24', '2001:db8::/32'), network('192.0.2.0/24'), false],
  [network('192.0.2.0/24'), network('::/0'), false],
  [signedIn({ withinMs: 1 }), signedIn({ withinMs: 2 }), true],
  [signedIn({ withinMs: 2 }), signedIn({ withinMs: 1 }), false],
  [signedIn({ withinMs: 1, acr: ['a'] }), signedIn({ acr: ['a', 'b'] }), true],
  [signedIn({ withinMs: 1 }), signedIn({ withinMs: 1, acr: ['a'] }), false],
  [signedIn({ acr: ['a'] }), signedIn({ withinMs: 1 }), false],
  [network('192.0.2.0/24'), signedIn({ withinMs: 1 }), false],
]

function network(...networks: readonly string[]): RequestCondition {
  return { kind: 'network', name: 'network', networks }
}

function signedIn(parts: { withinMs?: number; acr?: readonly string[] }): RequestCondition {
  return { kind: 'signedIn', name: 'signedIn', ...parts }
}

describe('a condition within another', () => {
  it('is told exactly for hours of one zone', () => fc.assert(tellsTheHours(isConditionWithin), { numRuns: runs(300) }))

  it('is told so that the wider one taken for the narrower is found out', () => {
    const outcome = fc.check(
      tellsTheHours((one, other) => isConditionWithin(other, one)),
      { numRuns: 300, seed: 1 },
    )
    expect(outcome.failed).to.equal(true)
  })

  it('is told for networks, sign-ins and other kinds', () => {
    for (const [one, other, isWithin] of PAIRS) {
      expect(isConditionWithin(one, other), JSON.stringify([one, other])).to.equal(isWithin)
    }
  })
})
