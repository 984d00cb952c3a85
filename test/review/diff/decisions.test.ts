/** The decisions in a diff are the ones that differ, and all of them: held to the oracle over the whole space. */
import { expect } from 'chai'
import fc from 'fast-check'
import { directionOf, type PolicyDifference } from '../../../src/analysis/diff/change.ts'
import { IDS, ROLES } from '../../policy/arbitrary.ts'
import { RESOURCES } from '../../policy/fixture.ts'
import type { OracleCaller, OraclePolicy } from '../../policy/world.ts'
import { runs } from '../../runs.ts'
import { diffOf, type PolicyPair, randomPair, redefinedPair } from './policy-pairs.ts'
import { type Diff, decisionsIn, effectsAt, promisesIn, type Space, shortened } from './promises.ts'
import { CLAIMS, objectPointsOf, pointsOf, type Question, roleLevels } from './whole-space.ts'

const RUNS = { numRuns: runs(600) }

/** Up to four roles; `ghost` is declared nowhere, `nobody` is named nowhere. */
const randomCallers = fc.array(
  fc.oneof(
    {
      weight: 9,
      arbitrary: fc.record({
        id: fc.constantFrom('nobody', ...IDS),
        roles: fc.subarray([...ROLES, 'ghost'], { maxLength: 4 }),
      }),
    },
    { weight: 1, arbitrary: fc.constant({ roles: [] }) },
  ),
  { minLength: 1, maxLength: 8 },
)

const SPACE: Space = {
  pairs: randomPair,
  callers: randomCallers,
  questionsOf,
  callerOf,
  pointsOf,
  objectPointsOf,
  roleLevels: (pair, question) => [{ conditions: new Map(), ...roleLevels(pair, question) }],
}

const { missesNothing, saysNothingElse, saysAll } = promisesIn(SPACE)

/** With relations that mean something else as well: what a request may meet has a direction in the diff. */
function hasTheDirection(diff: Diff) {
  return fc.property(redefinedPair, randomCallers, (pair, callers) => {
    const directions = new Set(diff(pair).map(directionOf))
    const points = callers.flatMap(({ id, roles }: Partial<OracleCaller>) =>
      questionsOf(callerOf(id, roles ?? [])).flatMap((question) => pointsOf(pair, question)),
    )
    const effects = new Set(points.flatMap(effectsAt))
    if (effects.has('gains')) expect([...directions]).to.include.oneOf(['widening', 'either'])
    if (effects.has('loses')) expect([...directions]).to.include.oneOf(['narrowing', 'either'])
  })
}

describe('the decisions in a policy diff', () => {
  const promises: Readonly<Record<string, (diff: Diff) => fc.IRawProperty<unknown>>> = {
    'miss no difference, for callers of up to four roles': missesNothing,
    'are all true, of every object that they are about': saysNothingElse,
    'turn what was granted to a subject into what is granted': saysAll,
    'and the relations have the direction of what requests meet': hasTheDirection,
  }

  for (const [promise, property] of Object.entries(promises)) {
    it(promise, () => fc.assert(property(diffOf) as fc.IProperty<unknown>, RUNS))
  }

  /** What `until=` may do: the pairs differ only from a moment on, or only before it. */
  const inTime: Readonly<Record<string, Diff>> = {
    'begin when a rule ends': (pair) => timed(pair, onlyLater, { from: MOMENT }),
    'last until the rules end': (pair) => timed(pair, onlyAtFirst, { until: MOMENT }),
  }

  for (const [when, diff] of Object.entries(inTime)) {
    for (const [promise, property] of Object.entries(promises).slice(0, 3)) {
      const few = { ...RUNS, numRuns: runs(150) }
      it(`${promise}, where they ${when}`, () => fc.assert(property(diff) as fc.IProperty<unknown>, few)).timeout(
        30_000,
      )
    }
  }

  it('tell of a role level that rests on two names for one relation, where no object can be had', () => {
    const told = decisionsIn(diffOf(twoNames()))
    expect(told).to.have.length(1)
    expect(told[0]).to.deep.include({ callers: [['b']], effect: 'loses', part: 'role level', actions: ['replace'] })
  })

  /** A promise, who breaks it, and what they break it on where random policies hardly come to that. */
  const wrong: Readonly<Record<string, readonly [keyof typeof promises, Diff, ...examples: readonly unknown[]]>> = {
    'ignores what two subjects are together': [
      'miss no difference, for callers of up to four roles',
      (pair) => decisionsIn(diffOf(pair)).filter(({ callers: [names = []] }) => names.length === 1),
    ],
    'forgets what is asked before any object is looked for': [
      'miss no difference, for callers of up to four roles',
      (pair) => decisionsIn(diffOf(pair)).filter(({ part }) => part !== 'role level'),
      [twoNames(), [{ id: 'nobody', roles: ['b'] }]],
    ],
    'takes every loss for a gain': [
      'miss no difference, for callers of up to four roles',
      (pair) => decisionsIn(diffOf(pair)).map((change) => ({ ...change, effect: 'gains' })),
    ],
    'takes one relation of several for all': [
      'are all true, of every object that they are about',
      (pair) => decisionsIn(diffOf(pair)).map((change) => ({ ...change, scope: shortened(change.scope) })),
    ],
    'says any for everything': [
      'are all true, of every object that they are about',
      (pair) =>
        decisionsIn(diffOf(pair)).map((change) => ({
          ...change,
          scope: { when: [{ with: [], without: [] }], besides: [] },
        })),
    ],
    'forgets fields': [
      'turn what was granted to a subject into what is granted',
      (pair) => decisionsIn(diffOf(pair)).filter(({ part }) => part !== 'fields'),
    ],
    'forgets that relations mean something else': [
      'and the relations have the direction of what requests meet',
      (pair) => decisionsIn(diffOf(pair)),
    ],
  }

  for (const [fault, [promise, diff, ...examples]] of Object.entries(wrong)) {
    it(`are compared so that a diff is found out that ${fault}`, async () => {
      const property = promises[promise]?.(diff) as fc.IProperty<unknown>
      const outcome = await fc.check(property, { numRuns: 3000, seed: 1, endOnFailure: true, examples })
      expect(outcome.failed).to.equal(true)
    })
  }
})

/** Nobody is `mine` and not the `owner`: by their names alone `b` passes the role level. */
function twoNames(): PolicyPair {
  const byOwner = { field: 'by', equals: 'id' } as const
  const about = { resource: 'jobs', actions: ['replace'], views: ['*'] }
  const nothing = { roles: ['b'], relations: new Map(), views: new Map(), links: [], rules: [] }
  const before: OraclePolicy = {
    ...nothing,
    relations: new Map([['jobs', new Map(Object.entries({ owner: byOwner, mine: byOwner }))]]),
    rules: [
      { ...about, subject: 'everyone', relations: ['owner'], effect: 'deny' },
      { ...about, subject: 'b', relations: ['mine'], effect: 'allow' },
    ],
  }
  return { before, after: nothing }
}

/** The diff of the pair in other clothes: its decisions must have exactly these times, which are then taken away. */
function timed(
  pair: PolicyPair,
  dress: (policy: OraclePolicy) => OraclePolicy,
  times: object,
): readonly PolicyDifference[] {
  const changes = decisionsIn(diffOf({ before: dress(pair.before), after: dress(pair.after) }))
  return changes.map(({ from, until, ...change }) => {
    expect({ ...(from === undefined ? {} : { from }), ...(until === undefined ? {} : { until }) }).to.deep.equal(times)
    return change
  })
}

const MOMENT = Date.UTC(2031, 0)

/** Until then everything is denied. */
function onlyLater(policy: OraclePolicy): OraclePolicy {
  const nothing = {
    subject: 'everyone',
    actions: ['*'],
    relations: [],
    views: ['*'],
    effect: 'deny',
    until: MOMENT,
  } as const
  const denies = ['*', 'system/*'].map((resource) => ({ ...nothing, resource }))
  return { ...policy, rules: [...policy.rules, ...denies] }
}

function onlyAtFirst(policy: OraclePolicy): OraclePolicy {
  return { ...policy, rules: policy.rules.map((rule) => ({ ...rule, until: MOMENT })) }
}

function questionsOf(caller: OracleCaller): readonly Question[] {
  return [...RESOURCES.byName.values()].flatMap((resource) =>
    [...resource.actions.keys()].map((action) => ({ resource, action, caller })),
  )
}

function callerOf(id: string | undefined, roles: readonly string[]): OracleCaller {
  return id === undefined ? { roles: [], claims: {} } : { id, roles, claims: CLAIMS }
}
