/**
 * The near misses of the second edition, held to the oracle: with the changes that a miss names the request is allowed,
 * whatever isn't known of another caller, and it isn't with fewer of them.
 */
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { MOST_SETS, possibleSets } from '../../../src/analysis/possible-sets.ts'
import { comparedFields, leavesOf, needsCaller } from '../../../src/decide/relations/all-kinds.ts'
import type { Relation } from '../../../src/decide/relations/relation-kind.ts'
import type { Explanation, NeededChange } from '../../../src/tools/explain/explanation.ts'
import { type StateChange, writtenBy } from '../../../src/tools/explain/request.ts'
import { type Asked, askedAbout } from '../../policy/arbitrary-language.ts'
import { CONDITIONS } from '../../policy/arbitrary-relations.ts'
import { LANGUAGE_RESOURCES, STORED, TASKS } from '../../policy/language-fixture.ts'
import { holdingConditions } from '../../policy/oracle/conditions.ts'
import { nameOf } from '../../policy/oracle/terms.ts'
import {
  covers,
  granted,
  grantedOnResult,
  grantedWithoutObject,
  inView,
  subjects,
  subsets,
} from '../../policy/oracle.ts'
import type { OracleCaller, OracleCondition, World } from '../../policy/world.ts'
import { drawing, runs } from '../../runs.ts'
import { named } from '../diff/language-space.ts'
import { ask, parsedOf } from './asking-language.ts'

type Names = ReadonlySet<string>
type Changes = readonly NeededChange[]

/** A request, and what holds for it. */
interface Refused {
  readonly asked: Asked
  /** The leaves that rules distinguish, those that hold, and those that nobody knows of another caller. */
  readonly leaves: readonly Relation[]
  readonly held: Names
  readonly conditions: Names
  readonly isTold: boolean
  /** The names of which a case says whether they hold. */
  readonly decided: Names
  readonly becomes: StateChange | undefined
}

const FULL = { teams: 'red', tenant: 'x' }

const drawn = fc
  .record({
    asked: askedAbout(TASKS, TASKS, ...STORED),
    pick: fc.nat(),
    told: fc.subarray(['office', 'hours', 'night', 'fresh', 'strong', 'both15', 'machine']),
    isTold: fc.boolean(),
    isWrite: fc.boolean(),
  })
  .map(({ asked, ...random }) => ({ ...random, asked: withEveryAttribute(asked) }))

const RUNS = { numRuns: runs(1000, 150) }

describe('the near misses of members, parents, walls and conditions', () => {
  it('are true, and no part of one would do', async () => {
    const met = new Map<string, number>()
    await drawing(
      () => fc.assert(areTrue(missesOf, met), RUNS),
      () => {
        for (const kind of [
          'relation',
          'not-relation',
          'condition',
          'not-condition',
          'result',
          'deny',
          'role',
          'user',
        ]) {
          expect(met.get(kind), kind).to.be.above(0)
        }
      },
    )
  })

  const wrong: Readonly<Record<string, (changes: Changes) => Changes>> = {
    'leaves out a change': (changes) => changes.slice(0, -1),
    'names a change too many': (changes) => [...changes, { kind: 'condition', name: 'extra' }],
    'takes another caller for the one who asks': (changes) =>
      changes.some(({ kind }) => kind === 'role' || kind === 'user')
        ? changes.filter(({ kind }) => !kind.startsWith('not-'))
        : changes,
  }
  for (const [fault, mistake] of Object.entries(wrong)) {
    it(`would not be true if explain were one that ${fault}`, () => {
      const mistaken = (refused: Refused) => {
        const { misses, ...found } = missesOf(refused)
        return { ...found, misses: misses.map((miss) => ({ ...miss, changes: mistake(miss.changes) })) }
      }
      const outcome = fc.check(areTrue(mistaken, new Map()), { numRuns: 20_000, seed: 1, endOnFailure: true })
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    })
  }

  it('name each set of one or two conditions that would be enough', async () => {
    let met = 0
    await drawing(
      () =>
        fc.assert(
          fc.property(drawn, (one) => {
            const refused = refusedOf({
              ...one,
              asked: withGates(one.asked, one.told),
              isTold: true,
              told: one.told.slice(2),
            })
            if (!refused || isAllowed(refused, [], 'some')) return
            const { misses } = missesOf(refused)
            for (const enough of enoughConditions(refused)) {
              met += Number(enough.length > 1)
              expect(misses.map(({ changes }) => keyOf(changes))).to.include(keyOf(enough))
            }
          }),
          { ...RUNS, numRuns: runs(200) },
        ),
      () => {
        expect(met).to.be.above(0)
      },
    )
  })
})

function areTrue(explained: (refused: Refused) => Pick<Explanation, 'misses' | 'cases'>, met: Map<string, number>) {
  return fc.property(drawn, (one) => {
    const refused = refusedOf(one)
    if (!refused) return
    const { misses, cases } = explained(refused)
    const base = cases.length === 0 || refused.isTold ? refused : caseOf(refused, cases)
    if (!base) return
    for (const { kind } of misses.flatMap(({ changes }) => changes)) met.set(kind, (met.get(kind) ?? 0) + 1)
    for (const { changes, sentence } of misses) {
      expect(isAllowed(base, changes, 'some'), `${sentence} would be enough`).to.equal(true)
      expect(enoughPart(base, changes), `${sentence}: less is enough`).to.equal(undefined)
    }
  })
}

/** A proper part of the changes that is enough, whichever of the nearest objects it is. */
function enoughPart(refused: Refused, changes: Changes): Changes | undefined {
  const parts = subsets(changes.map((_, i) => String(i))).filter(({ size }) => size < changes.length)
  return parts
    .map((part) => changes.filter((_, i) => part.has(String(i))))
    .find((part) => isAllowed(refused, part, 'every'))
}

function missesOf({ asked, held, conditions, isTold, becomes }: Refused): Explanation {
  const holds = new Map([...(asked.world.policy.conditions?.keys() ?? [])].map((name) => [name, conditions.has(name)]))
  const told = isTold ? ({ conditions: { holds, from: '--with' } } as const) : {}
  const holding = named(asked.world, held)
  if (isTold) return ask(asked, { kind: 'relations', from: '--relation', id: undefined, holding }, told, becomes)
  return ask(asked, { kind: 'any', id: undefined }, told, becomes)
}

// ---- What is drawn --------------------------------------------------------------------------------------------------

type Drawn = typeof drawn extends fc.Arbitrary<infer T> ? T : never

function withEveryAttribute(asked: Asked): Asked {
  const { id, roles } = asked.world.caller
  const caller: OracleCaller = id === undefined ? { roles: [], claims: {} } : { id, roles, claims: FULL }
  return { ...asked, world: { ...asked.world, caller } }
}

/** With a deny that asks for each of two conditions. */
function withGates({ world, ...asked }: Asked, [first = 'fresh', second = 'strong']: readonly string[]): Asked {
  const asks = [first, second]
  const all = { subject: 'everyone', resource: world.resource.name, actions: ['*'], views: ['*'] }
  const gates = asks.map((name) => ({ ...all, relations: [`!${name}`], effect: 'deny' as const }))
  const added = asks.map((name) => [name, CONDITIONS[name] as OracleCondition] as const)
  const conditions = new Map([...(world.policy.conditions ?? []), ...added])
  const policy = { ...world.policy, conditions, rules: [...world.policy.rules, ...gates] }
  return { ...asked, world: { ...world, policy } }
}

/** Undefined for a list, whose answer names no object, and where too much would have to be tried. */
function refusedOf({ asked, pick, told, isTold, isWrite }: Drawn): Refused | undefined {
  const { world, request } = asked
  const { action, operation = action } = request
  const resource = LANGUAGE_RESOURCES.byName.get(world.resource.name)
  if (!resource || operation === 'list') return undefined
  const relations = [...(parsedOf(world.policy).ownership.get(resource.name)?.relations.values() ?? [])]
  const states = isWrite && CHANGES.includes(operation) ? statesFor(relations.filter(isLeaf), pick) : []
  const leaves = operation === 'options' ? [] : [...new Set([...leavesNamed(world, action, relations), ...states])]
  const sets = possibleSets(leaves, resource)
  if (sets.length >= MOST_SETS || (!isTold && isTooOpen(world, action, sets.length))) return undefined
  const could = sets.filter((set) => couldBe(world, leaves, set))
  const held = isTold ? (could[pick % could.length] ?? new Set()) : new Set<string>()
  const conditions = isTold ? conditionsOf(world).intersection(new Set(told)) : holdingConditions(world)
  const names = new Set(states.map(({ name }) => name))
  const after = (could[(pick >> 3) % could.length] ?? new Set()).intersection(names)
  const [field = ''] = states.slice(0, 1).flatMap(comparedFields)
  const change = { text: 'before>after', field, states: names, before: held.intersection(names), after }
  return {
    asked,
    leaves,
    held,
    conditions,
    isTold,
    decided: new Set(),
    becomes: states.length > 0 ? change : undefined,
  }
}

/** Without credentials nobody has a relation that compares the object with its caller. */
function couldBe({ caller }: World, leaves: readonly Relation[], names: Names): boolean {
  return caller.id !== undefined || !leaves.some((leaf) => names.has(leaf.name) && needsCaller(leaf))
}

function conditionsOf({ policy }: World): Names {
  return new Set(policy.conditions?.keys())
}

const CHANGES = ['update', 'replace']

/** The leaves that look at one field that a write can change. */
function statesFor(leaves: readonly Relation[], pick: number): readonly Relation[] {
  const fields = [...new Set(leaves.flatMap(comparedFields))].filter((field) => !['id', 'createdAt'].includes(field))
  const field = fields[pick % fields.length] ?? ''
  return leaves.filter((leaf) => comparedFields(leaf).includes(field))
}

/** A rule with a name that the resource doesn't declare never matches, so no case tells of its other names. */
function canCount({ policy, resource }: World, { relations, after = [] }: World['policy']['rules'][number]): boolean {
  const declared = policy.relations.get(resource.name)
  return [...relations, ...after]
    .map(nameOf)
    .every((name) => policy.conditions?.has(name) || declared?.has(name) || false)
}

function leavesNamed(world: World, action: string, relations: readonly Relation[]): readonly Relation[] {
  const names = namesAbout(world, action)
  return relations.filter(({ name }) => names.has(name)).flatMap(leavesOf)
}

function namesAbout({ policy, resource }: World, action: string): Names {
  const about = policy.rules.filter(
    (rule) => covers(rule.resource, resource) && (rule.actions.includes('*') || rule.actions.includes(action)),
  )
  return new Set(about.flatMap((rule) => [...rule.relations, ...(rule.after ?? [])]).map(nameOf))
}

/** Each set would have to be tried; and a case names its relations, which doesn't tell their parts. */
function isTooOpen(world: World, action: string, sets: number): boolean {
  const declared = world.policy.relations.get(world.resource.name)
  if (sets > 64) return true
  return [...namesAbout(world, action)].some((name) => {
    const form = declared?.get(name)
    return form !== undefined && ('all' in form || 'any' in form)
  })
}

function isLeaf(relation: Relation): boolean {
  return leavesOf(relation)[0] === relation
}

/** The case that the misses are about: it tells of each name that rules about the caller have. */
function caseOf(refused: Refused, cases: Explanation['cases']): Refused | undefined {
  const { world, request } = refused.asked
  const first = cases.find(({ outcome }) => outcome === 'deny')
  const own = world.policy.rules.filter((rule) => subjects(world).has(rule.subject) && canCount(world, rule))
  const asking = { ...world, policy: { ...world.policy, rules: own } }
  const decided = namesAbout(asking, request.action).union(namesAbout(asking, 'read'))
  const others = refused.conditions.difference(decided)
  return (
    first && {
      ...refused,
      decided,
      held: new Set(first.relations),
      conditions: others.union(new Set(first.conditions)),
    }
  )
}

// ---- What the changes make of it ------------------------------------------------------------------------------------

/** Where several objects are as near, `some` or `every` one of them counts. */
function isAllowed(refused: Refused, changes: Changes, nearest: 'some' | 'every'): boolean {
  const { asked, becomes, conditions } = refused
  const names = (kind: NeededChange['kind']) =>
    new Set(changes.flatMap((change) => (change.kind === kind && 'name' in change ? [change.name] : [])))
  const [on, off] = [names('relation'), names('not-relation')]
  const [added, gone] = [names('result'), names('not-result')]
  const changed = added.union(gone).union(becomes?.states ?? new Set())
  const after = becomes && writtenBy(becomes, refused.held).after
  const results =
    after && near(refused, after, added.union(on.difference(changed)), gone.union(off.difference(changed)))
  const holding = conditions.union(names('condition')).difference(names('not-condition'))
  const world = worldWith(asked.world, changes)
  const open = openNames(refused, changes).difference(
    new Set([...on, ...off, ...names('condition'), ...names('not-condition')]),
  )
  const leafNames = new Set(refused.leaves.map(({ name }) => name))
  const isAllowedIn = (stored: Names, result: Names | undefined) =>
    couldBe(world, refused.leaves, stored.union(result ?? new Set())) &&
    subsets([...open]).every((set) => {
      const settle = (some: Names, fixed: Names = new Set()) =>
        some.difference(open.difference(fixed)).union(set.intersection(leafNames).difference(fixed))
      const sure = holding.difference(open).union(set.difference(leafNames))
      const [one, other] = [settle(stored), result && settle(result, added.union(gone))]
      if (![one, other ?? one].every((some) => isPossible(refused, some))) return true
      return isGranted(refused, { ...world, assumed: sure }, one, other)
    })
  return near(refused, refused.held, on, off)[nearest]((stored) =>
    results ? results[nearest]((result) => isAllowedIn(stored, result)) : isAllowedIn(stored, undefined),
  )
}

function isGranted({ asked: { request }, becomes }: Refused, world: World, stored: Names, result?: Names): boolean {
  const { action, operation = action } = request
  if (world.resource.builtIn || operation === 'options') return grantedWithoutObject(world, action).size > 0
  const fields = granted(world, action, named(world, stored))
  const shown = operation === 'read' ? inView(fields, request.view) : fields
  if (!becomes || !result || shown.size === 0) return shown.size > 0
  const mixed = new Set([
    ...[...stored].filter((name) => isState(world, name)),
    ...[...result].filter((name) => !isState(world, name)),
  ])
  const transition = { before: named(world, stored), between: named(world, mixed), after: named(world, result) }
  const second = grantedOnResult(world, action, transition)
  const isSame = stored.intersection(becomes.states).symmetricDifference(result.intersection(becomes.states)).size === 0
  return second.size > 0 && (isSame || (fields.has(becomes.field) && second.has(becomes.field)))
}

function isState({ policy, resource }: World, name: string): boolean {
  const form = policy.relations.get(resource.name)?.get(name)
  return form !== undefined && ('in' in form || 'present' in form)
}

/** The possible sets of leaves with these changes, as few others changed as can be. */
function near({ leaves, asked }: Refused, base: Names, on: Names, off: Names): readonly Names[] {
  const resource = LANGUAGE_RESOURCES.byName.get(asked.world.resource.name)
  if (!resource) return []
  const fitting = possibleSets(leaves, resource).filter((set) => on.isSubsetOf(set) && set.isDisjointFrom(off))
  const distances = fitting.map((set) => set.symmetricDifference(base).size)
  return fitting.filter((_, i) => distances[i] === Math.min(...distances))
}

function isPossible(refused: Refused, names: Names): boolean {
  return near(refused, names, names, new Set()).some((set) => set.size === names.size)
}

/** Conditions hold as they are assumed alone. */
function worldWith({ policy, caller, ...world }: World, changes: Changes): World {
  const lines = parsedOf(policy).rules.map(({ line }) => `policy.csv:${line}`)
  const gone = new Set(changes.flatMap((change) => (change.kind === 'deny' ? [change.rule] : [])))
  const rules = policy.rules.filter((_, i) => !gone.has(lines[i] ?? ''))
  const conditions = new Map([...(policy.conditions?.keys() ?? [])].map((name) => [name, NEVER]))
  return { ...world, policy: { ...policy, rules, conditions }, caller: changes.reduce(become, caller) }
}

const NEVER = { signedIn: { acr: ['never'] } }

function become(caller: OracleCaller, change: NeededChange): OracleCaller {
  const somebody = { ...caller, id: caller.id ?? 'somebody', claims: FULL }
  if (change.kind === 'credentials') return somebody
  if (change.kind === 'role') return { ...somebody, roles: [...caller.roles, change.name] }
  return change.kind === 'user' ? { ...somebody, id: change.name } : caller
}

/** What nobody knows: no case tells it, or it depends on who asks, and somebody else would. */
function openNames({ asked: { world, request }, leaves, isTold, decided, becomes }: Refused, changes: Changes): Names {
  if (isTold) return new Set()
  const isAnonymous = world.caller.id === undefined
  const gainsCredentials = isAnonymous && changes.some(({ kind }) => ['user', 'role', 'credentials'].includes(kind))
  const isStranger = gainsCredentials || changes.some(({ kind }) => kind === 'user')
  const relations = leaves.filter((leaf) => {
    const isKnown = decided.has(leaf.name) || (isAnonymous && needsCaller(leaf))
    return !becomes?.states.has(leaf.name) && (!isKnown || (isStranger && needsCaller(leaf)))
  })
  const conditions = [...(world.policy.conditions ?? [])].filter(([name, one]) => {
    const asksCaller = 'signedIn' in one || 'credential' in one
    const isKnown = decided.has(name) || (asksCaller ? isAnonymous : !('network' in one) || world.address !== undefined)
    return !isKnown || (gainsCredentials && asksCaller)
  })
  const about = namesAbout(world, request.action)
  return new Set([...relations, ...conditions.map(([name]) => ({ name }))].map(({ name }) => name)).intersection(about)
}

/** The smallest sets of one or two conditions to change. */
function enoughConditions(refused: Refused): readonly Changes[] {
  const all = [...(refused.asked.world.policy.conditions?.keys() ?? [])].map((name): NeededChange => {
    return { kind: refused.conditions.has(name) ? 'not-condition' : 'condition', name }
  })
  const enough = subsets(all.map((_, i) => String(i)))
    .filter(({ size }) => size === 1 || size === 2)
    .map((set) => all.filter((_, i) => set.has(String(i))))
    .filter((changes) => isAllowed(refused, changes, 'some'))
  return enough.filter(
    (changes) => !enough.some((one) => one.length < changes.length && one.every((change) => changes.includes(change))),
  )
}

function keyOf(changes: Changes): string {
  return changes
    .map(({ kind, ...one }) => `${kind} ${Object.values(one)}`)
    .toSorted()
    .join()
}
