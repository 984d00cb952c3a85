/**
 * What a diff says of OPTIONS, held to brute force: under each set of conditions, and for policies that don't share
 * their words. A rule that names a relation, negated or not, says nothing about OPTIONS (docs/semantics.md, "When a
 * rule matches").
 */
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import type { ChangeScope, DecisionChange } from '../../../src/analysis/diff/change.ts'
import { Incomparable } from '../../../src/analysis/diff/compare-decisions.ts'
import { askedAbout } from '../../policy/arbitrary-language.ts'
import { TASKS } from '../../policy/language-fixture.ts'
import { grantedWithoutObject, subjects } from '../../policy/oracle.ts'
import type { OracleCaller } from '../../policy/world.ts'
import { drawing, runs } from '../../runs.ts'
import { COMPARED, languageDiff, languagePair, ROLES } from './language-pairs.ts'
import { callerOf, conditionSets, isUnder, worldsOf } from './language-space.ts'
import type { PolicyPair } from './policy-pairs.ts'
import { type Diff, decisionsIn } from './promises.ts'
import type { Question } from './whole-space.ts'

const someWorld = askedAbout(TASKS).map(({ world }) => world.policy)
const strangers: fc.Arbitrary<PolicyPair> = fc.tuple(someWorld, someWorld).map(([before, after]) => ({ before, after }))

/** Of both kinds, more rules about OPTIONS than policies usually have. */
const pairs = fc
  .tuple(fc.oneof(languagePair, strangers), fc.array(fc.nat(20), { maxLength: 3 }))
  .map(([{ before, after }, places]): PolicyPair => {
    const alsoAsked = (policy: PolicyPair['before']) => ({
      ...policy,
      rules: policy.rules.map(({ after: right, ...rule }, i) =>
        places.includes(i) ? { ...rule, actions: ['*'] } : { ...rule, ...(right ? { after: right } : {}) },
      ),
    })
    return { before: alsoAsked(before), after: alsoAsked(after) }
  })

const CALLERS: readonly OracleCaller[] = [
  callerOf(undefined, []),
  ...[[], ...ROLES.map((role) => [role]), ['a', 'b'], ['b', 'c']].map((roles) => callerOf('nobody', roles)),
]

/** `seen` gets the differences that brute force finds. */
function isExact(diff: Diff, seen: Set<string>) {
  return fc.property(pairs, (pair) => {
    const told = decided(diff, pair)?.filter(({ actions }) => actions.includes('options'))
    fc.pre(told !== undefined)
    const wrong = [...COMPARED.byName.values()].flatMap((resource) =>
      CALLERS.flatMap((caller) => {
        const here = told.filter((change) => change.resources.includes(resource.name) && isAbout(change, pair, caller))
        return wrongIn(pair, { resource, action: 'options', caller }, here, seen)
      }),
    )
    expect(wrong).to.deep.equal([])
  })
}

/** Undefined if the rules combine too much, which a diff says in place of an answer. */
function decided(diff: Diff, pair: PolicyPair): readonly DecisionChange[] | undefined {
  try {
    return decisionsIn(diff(pair))
  } catch (error) {
    if (error instanceof Incomparable) return undefined
    throw error
  }
}

function wrongIn(
  pair: PolicyPair,
  question: Question,
  told: readonly DecisionChange[],
  seen: Set<string>,
): readonly string[] {
  const { roles } = question.caller
  return conditionSets(pair, question).flatMap((conditions) => {
    const expected = effectIn(pair, question, conditions)
    if (expected) seen.add(`${expected} ${roles.length}`)
    const found = new Set(told.filter(({ scope }) => isIn(conditions, scope)).map(({ effect }) => effect))
    // What one of two roles loses, the other may still grant.
    const isRight = roles.length > 1 ? !expected || found.has(expected) : [...found].join() === (expected ?? '')
    return isRight ? [] : [`${roles} ${question.resource.name} ${[...conditions]}: ${expected}, not ${[...found]}`]
  })
}

/** No condition of the clock holds but those that are assumed. */
const EVENING = Date.parse('2026-11-20T20:00:00Z')

function effectIn(
  pair: PolicyPair,
  question: Question,
  conditions: ReadonlySet<string>,
): DecisionChange['effect'] | undefined {
  const { before, after } = worldsOf(pair, question, conditions)
  const [was, is] = [before, after].map((world) => grantedWithoutObject({ ...world, now: EVENING }, 'options').size > 0)
  if (was === is) return undefined
  return is ? 'gains' : 'loses'
}

function isIn(conditions: ReadonlySet<string>, scope: ChangeScope | undefined): boolean {
  return scope !== undefined && isUnder(conditions, scope) && !isUnder(conditions, { when: scope.besides, besides: [] })
}

/** A change names a caller's subjects; for a caller of several roles, one or two of them. */
function isAbout({ callers }: DecisionChange, pair: PolicyPair, caller: OracleCaller): boolean {
  const alone = caller.id === undefined ? 'anonymous' : (caller.roles[0] ?? 'everyone')
  if (caller.roles.length < 2) return callers.some((names) => String(names) === alone)
  const { before, after } = worldsOf(pair, { resource: TASKS, action: 'options', caller }, new Set())
  const own = subjects(before).union(subjects(after))
  return callers.some((names) => names.every((name) => own.has(name)))
}

describe('what a diff says of OPTIONS', () => {
  it('is what brute force finds, for each caller and each set of conditions', async () => {
    const seen = new Set<string>()
    await drawing(
      () => fc.assert(isExact(languageDiff, seen), { numRuns: runs(120, 50) }),
      () => {
        expect([...seen]).to.include.members(['gains 0', 'gains 1', 'gains 2', 'loses 0', 'loses 1', 'loses 2'])
      },
    )
  })

  const wrong: Readonly<Record<string, Diff>> = {
    'tells nothing of OPTIONS': (pair) =>
      decisionsIn(languageDiff(pair)).filter(({ actions }) => !actions.includes('options')),
    'forgets the conditions': (pair) =>
      decisionsIn(languageDiff(pair)).map((change) => ({
        ...change,
        scope: { when: [{ with: [], without: [] }], besides: [] },
      })),
    'takes a negated relation as one that holds for no object': (pair) =>
      languageDiff({ before: withoutNegated(pair.before), after: withoutNegated(pair.after) }),
  }
  for (const [fault, diff] of Object.entries(wrong)) {
    it(`would not be if the diff were one that ${fault}`, () => {
      const outcome = fc.check(isExact(diff, new Set()), { numRuns: 3000, seed: 3, endOnFailure: true })
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    })
  }
})

/** Where `!relation` is true for what isn't there, a rule that names only such terms says something about OPTIONS. */
function withoutNegated(policy: PolicyPair['before']): PolicyPair['before'] {
  const rules = policy.rules.map((rule) => {
    const kept = rule.relations.filter((term) => !term.startsWith('!') || policy.conditions?.has(term.slice(1)))
    return rule.resource === 'tasks' && rule.actions.includes('options') ? { ...rule, relations: kept } : rule
  })
  return { ...policy, rules }
}
