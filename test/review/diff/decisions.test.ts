/** The decisions in a diff are the ones that differ, and all of them: held to the oracle over the whole space. */
import { expect } from 'chai'
import fc from 'fast-check'
import {
  type DecisionChange,
  directionOf,
  type PolicyDifference,
  type Scope,
  type Term,
} from '../../../src/tools/diff/change.ts'
import { IDS, ROLES } from '../../policy/arbitrary.ts'
import { RESOURCES } from '../../policy/fixture.ts'
import type { OracleCaller, OraclePolicy } from '../../policy/world.ts'
import { runs } from '../../runs.ts'
import { diffOf, type PolicyPair, randomPair, redefinedPair } from './policy-pairs.ts'
import { CLAIMS, type Holding, objectPointsOf, type Point, pointsOf, type Question, roleLevels } from './whole-space.ts'

const RUNS = { numRuns: runs(600), interruptAfterTimeLimit: 3000 }

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

type Diff = (pair: PolicyPair) => readonly PolicyDifference[]

/** Each difference that the oracle knows is in the diff, for a subject or two of the caller. */
function missesNothing(diff: Diff) {
  return fc.property(randomPair, randomCallers, (pair, callers) => {
    const changes = decisionsIn(diff(pair))
    const missed = callers.flatMap(({ id, roles }: Partial<OracleCaller>) => {
      const caller = callerOf(id, roles ?? [])
      return questionsOf(caller).flatMap((question) => {
        const told = changes.filter((change) => concerns(change, question) && change.callers.some(holds(caller)))
        return missedIn(pair, question, told)
      })
    })
    expect(missed).to.deep.equal([])
  })
}

function missedIn(pair: PolicyPair, question: Question, told: readonly DecisionChange[]): readonly string[] {
  const effects = new Set(told.map(({ effect }) => effect))
  const points = [...pointsOf(pair, question), ...objectPointsOf(pair, question)]
  const expected = new Set([...points.flatMap(effectsAt), ...effectOnRoleLevel(pair, question)])
  return [...expected.difference(effects)].map((effect) => `${question.caller.roles} ${effect} ${question.action}`)
}

/** The diff tells it for one subject and for two. */
function effectOnRoleLevel(pair: PolicyPair, question: Question): readonly DecisionChange['effect'][] {
  const { id, roles } = question.caller
  if (roles.length > (id === 'nobody' ? 2 : 1)) return []
  const { before, after } = roleLevels(pair, question)
  if (before === after) return []
  return [after ? 'gains' : 'loses']
}

/** Each change is true at every point that it is about, and is about one at least. */
function saysNothingElse(diff: Diff) {
  return fc.property(randomPair, (pair) => {
    const wrong = decisionsIn(diff(pair)).flatMap((change) =>
      change.callers.flatMap((names) =>
        questionsOf(callerNamed(names))
          .filter((question) => concerns(change, question))
          .flatMap((question) => faultsOf(pair, question, change)),
      ),
    )
    expect(wrong).to.deep.equal([])
  })
}

function faultsOf(pair: PolicyPair, question: Question, change: DecisionChange): readonly string[] {
  const told = `${question.resource.name} ${JSON.stringify(change)}`
  if (change.part === 'role level') {
    const { before, after } = roleLevels(pair, question)
    return before !== after && after === (change.effect === 'gains') ? [] : [told]
  }
  const points = change.part === 'object level' ? objectPointsOf(pair, question) : pointsOf(pair, question)
  const about = points.filter((point) => meets(point, change.scope))
  if (!change.scope) return points.some((point) => effectsAt(point).includes(change.effect)) ? [] : [told]
  return about.length > 0 && about.every((point) => isTrueAt(point, change)) ? [] : [told]
}

function isTrueAt(point: Point, { effect, part, fields }: DecisionChange): boolean {
  const [less, more] = effect === 'gains' ? [point.before, point.after] : [point.after, point.before]
  const named = new Set(fields ?? more)
  if (part === 'object level') return !more.isSubsetOf(less)
  if (part === 'fields') return less.size > 0 && named.isSubsetOf(more) && named.isDisjointFrom(less)
  return less.size === 0 && more.size > 0 && named.symmetricDifference(more).size === 0
}

/** For a subject alone: what was granted, with the changes applied, is what is granted. */
function saysAll(diff: Diff) {
  return fc.property(randomPair, (pair) => {
    const changes = decisionsIn(diff(pair))
    const wrong = singlesOf(pair).flatMap((name) =>
      questionsOf(callerNamed([name])).flatMap((question) => {
        const told = changes.filter((change) => {
          return concerns(change, question) && change.callers.some((names) => names.length === 1 && names[0] === name)
        })
        return pointsOf(pair, question)
          .filter((point) => applied(point, told).symmetricDifference(point.after).size > 0)
          .map(
            ({ holding }) => `${name} ${question.action} ${question.resource.name} (${[...holding.stored].join('+')})`,
          )
      }),
    )
    expect(wrong).to.deep.equal([])
  })
}

function applied(point: Point, told: readonly DecisionChange[]): ReadonlySet<string> {
  const here = told.filter(({ part, scope }) => !part.endsWith('level') && meets(point, scope))
  return here.reduce<ReadonlySet<string>>((fields, { effect, part, fields: named }) => {
    if (effect === 'gains') return fields.union(new Set(named ?? point.after))
    return part === 'action' ? new Set() : fields.difference(new Set(named))
  }, point.before)
}

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
    it(promise, () => fc.assert(property(diffOf) as fc.IProperty<unknown>, RUNS)).timeout(30_000)
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
    }).timeout(30_000)
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

/** What is granted; by what lists may be queried is in queries.test.ts. */
function decisionsIn(changes: readonly PolicyDifference[]): readonly DecisionChange[] {
  return changes.flatMap((change) => (change.kind === 'decision' && change.part !== 'query' ? [change] : []))
}

function questionsOf(caller: OracleCaller): readonly Question[] {
  return [...RESOURCES.byName.values()].flatMap((resource) =>
    [...resource.actions.keys()].map((action) => ({ resource, action, caller })),
  )
}

function concerns({ resources, actions }: DecisionChange, { resource, action }: Question): boolean {
  return resources.includes(resource.name) && actions.includes(action)
}

function callerOf(id: string | undefined, roles: readonly string[]): OracleCaller {
  return id === undefined ? { roles: [], claims: {} } : { id, roles, claims: CLAIMS }
}

function callerNamed(names: readonly string[]): OracleCaller {
  if (names.includes('anonymous')) return callerOf(undefined, [])
  const user = names.find((name) => name.startsWith('user:'))
  return callerOf(
    user?.slice('user:'.length) ?? 'nobody',
    names.filter((name) => name !== user && name !== 'everyone'),
  )
}

function holds({ id, roles }: OracleCaller): (names: readonly string[]) => boolean {
  const own = new Set(['everyone', id === undefined ? 'anonymous' : `user:${id}`, ...roles])
  return (names) => names.every((name) => own.has(name))
}

function singlesOf({ before, after }: PolicyPair): readonly string[] {
  return ['everyone', 'anonymous', ...new Set([...before.roles, ...after.roles])]
}

function effectsAt({ before, after }: Point): readonly DecisionChange['effect'][] {
  const gains = after.isSubsetOf(before) ? [] : ['gains' as const]
  return before.isSubsetOf(after) ? gains : [...gains, 'loses']
}

function meets({ holding }: Point, scope: Scope | undefined): boolean {
  if (!scope) return false
  const holdsHere = (terms: Scope['when']) => terms.some((term) => meetsTerm(holding, term))
  return holdsHere(scope.when) && !holdsHere(scope.besides)
}

/** As a relation column: what the right side names is asked of the stored object alone on the left. */
function meetsTerm({ stored, mixed, proposed }: Holding, term: Term): boolean {
  const onRight = new Set([...(term.becomes?.with ?? []), ...(term.becomes?.without ?? [])])
  const both = (name: string, wanted: boolean) =>
    stored.has(name) === wanted && (onRight.has(name) || mixed.has(name) === wanted)
  return (
    term.with.every((name) => both(name, true)) &&
    term.without.every((name) => both(name, false)) &&
    (term.becomes?.with ?? []).every((name) => proposed.has(name)) &&
    !(term.becomes?.without ?? []).some((name) => proposed.has(name))
  )
}

function shortened(scope: Scope | undefined): Scope | undefined {
  return scope && { ...scope, when: scope.when.map((term) => ({ ...term, with: term.with.slice(0, 1) })) }
}
