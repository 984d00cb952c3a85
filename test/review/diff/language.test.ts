/** The decisions in a diff of policies with members, walls, transitions and conditions: those that differ, and all of them. */
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { CONDITIONS } from '../../policy/arbitrary-relations.ts'
import type { OraclePolicy, OracleRelation } from '../../policy/world.ts'
import { runs } from '../../runs.ts'
import { COMPARED, languageDiff, languagePair, ROLES } from './language-pairs.ts'
import { callerOf, isUnder, objectPointsOf, pointsOf, queriesIn, roleLevels } from './language-space.ts'
import { type Diff, decisionsIn, promisesIn, shortened } from './promises.ts'

const callers = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ id: fc.constantFrom('nobody', 'u1'), roles: fc.subarray([...ROLES, 'ghost']) }),
    },
    { weight: 1, arbitrary: fc.constant({ roles: [] }) },
  ),
  { minLength: 1, maxLength: 4 },
)

const { missesNothing, saysNothingElse, saysAll } = promisesIn({
  pairs: languagePair,
  callers,
  callerOf,
  pointsOf,
  objectPointsOf,
  roleLevels,
  questionsOf: (caller) =>
    [...COMPARED.byName.values()].flatMap((resource) =>
      [...resource.actions.keys()].map((action) => ({ resource, action, caller })),
    ),
})

const PROMISES = {
  'miss no difference, for callers of several roles': missesNothing,
  'are all true, in every situation that they are about': saysNothingElse,
  'turn what was granted to a subject into what is granted': saysAll,
}

const RUNS = { numRuns: runs(240) }

describe('the decisions in a diff of the second edition', () => {
  for (const [promise, property] of Object.entries(PROMISES)) {
    it(promise, () => fc.assert(property(languageDiff) as fc.IProperty<unknown>, RUNS))
  }

  /** Of the fields that a list shows on both sides, by which it may be queried on one alone. */
  const queriesAreTold = (diff: Diff) =>
    fc.property(languagePair, (pair) => {
      const told = diff(pair).flatMap((change) =>
        change.kind === 'decision' && change.part === 'query' ? [change] : [],
      )
      for (const name of ['everyone', 'anonymous', ...ROLES]) {
        for (const { conditions, before, after, shown } of queriesIn(pair, name)) {
          const own = told.filter(
            ({ callers, scope }) => callers.some(([one]) => one === name) && isUnder(conditions, scope),
          )
          const fieldsIn = (effect: string) =>
            new Set(own.flatMap((change) => (change.effect === effect ? (change.fields ?? []) : [])))
          expect(fieldsIn('gains')).to.deep.equal(after.difference(before).intersection(shown))
          expect(fieldsIn('loses')).to.deep.equal(before.difference(after).intersection(shown))
        }
      }
    })

  it('name the fields that lists may no longer be queried by, under each condition', () =>
    fc.assert(queriesAreTold(languageDiff) as fc.IProperty<unknown>, RUNS))

  it('are compared so that a diff is found out that queries under any condition alike', () => {
    const alike: Diff = (pair) =>
      languageDiff(pair).flatMap((change) =>
        change.kind === 'decision' && change.part === 'query'
          ? [{ ...change, scope: { when: [{ with: [], without: [] }], besides: [] } }]
          : [],
      )
    const outcome = fc.check(queriesAreTold(alike) as fc.IProperty<unknown>, {
      numRuns: 3000,
      seed: 1,
      endOnFailure: true,
    })
    expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
  })

  it('tell of a role level under conditions where no object can be had, beside what objects lose', () => {
    const told = decisionsIn(
      languageDiff({ before: oneRule('owner', 'office'), after: oneRule('open', 'done', 'fresh') }),
    )
    expect(told.map(({ effect, part, scope }) => [effect, part, scope?.when])).to.deep.equal([
      ['loses', 'action', [{ with: ['owner', 'office'], without: [] }]],
      ['gains', 'role level', [{ with: ['open', 'done', 'fresh'], without: ['office'] }]],
    ])
  })

  it('tell nothing of a rule about OPTIONS that names a relation, negated or not: it never matches', () => {
    const optionsIf = (...relations: string[]) => {
      const policy = oneRule(...relations)
      return { ...policy, rules: policy.rules.map((rule) => ({ ...rule, actions: ['options'] })) }
    }
    const none = { ...optionsIf(), rules: [] }
    for (const term of ['owner', '!owner']) {
      expect(languageDiff({ before: optionsIf(term), after: none }), term).to.deep.equal([])
      expect(languageDiff({ before: none, after: optionsIf(term) }), term).to.deep.equal([])
    }
    const effects = decisionsIn(languageDiff({ before: optionsIf('office'), after: none })).map(({ effect }) => effect)
    expect(effects).to.deep.equal(['loses'])
  })

  const wrong: Readonly<Record<string, readonly [keyof typeof PROMISES, Diff]>> = {
    'forgets transitions': [
      'miss no difference, for callers of several roles',
      (pair) => decisionsIn(languageDiff(pair)).filter(({ scope }) => !scope?.when.some(({ becomes }) => becomes)),
    ],
    'forgets what must not hold': [
      'are all true, in every situation that they are about',
      (pair) =>
        decisionsIn(languageDiff(pair)).map((change) => ({
          ...change,
          scope: change.scope && { ...change.scope, when: change.scope.when.map((term) => ({ ...term, without: [] })) },
        })),
    ],
    'takes one name of several for all': [
      'are all true, in every situation that they are about',
      (pair) => decisionsIn(languageDiff(pair)).map((change) => ({ ...change, scope: shortened(change.scope) })),
    ],
    'ignores what two subjects are together': [
      'miss no difference, for callers of several roles',
      (pair) => decisionsIn(languageDiff(pair)).filter(({ callers: [names = []] }) => names.length === 1),
    ],
    'forgets fields': [
      'turn what was granted to a subject into what is granted',
      (pair) => decisionsIn(languageDiff(pair)).filter(({ part }) => part !== 'fields'),
    ],
  }

  for (const [fault, [promise, diff]] of Object.entries(wrong)) {
    it(`are compared so that a diff is found out that ${fault}`, async () => {
      const property = PROMISES[promise](diff) as fc.IProperty<unknown>
      const outcome = await fc.check(property, { numRuns: 3000, seed: 1, endOnFailure: true })
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    })
  }
})

/** The role a may read tasks where all of these names hold. */
function oneRule(...relations: readonly string[]): OraclePolicy {
  const rule = { subject: 'a', resource: 'tasks', actions: ['read'], relations, views: ['*'], effect: 'allow' } as const
  const tasks = new Map<string, OracleRelation>([
    ['owner', { field: 'ownerId', equals: 'id' }],
    ['open', { field: 'status', in: ['open'] }],
    ['done', { field: 'status', in: ['done'] }],
  ])
  const conditions = new Map(Object.entries(CONDITIONS).filter(([name]) => ['office', 'fresh'].includes(name)))
  return {
    roles: ['a'],
    links: [],
    rules: [rule],
    relations: new Map([['tasks', tasks]]),
    views: new Map(),
    conditions,
  }
}
