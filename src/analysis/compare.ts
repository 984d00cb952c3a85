/**
 * Where two policies grant something else: the rules of both about one action on one resource, in one space of
 * situations, for every subject alone and every two subjects together.
 *
 * That is enough for callers with any number of subjects. Say a set of subjects was refused and is now granted: now one
 * of them allows and none denies. If that subject alone was refused before, it differs alone. Otherwise another subject
 * of the set denied it before, and the two differ together. (For a loss, swap before and after.)
 *
 * A command needs two actions, which two subjects may allow. So each two subjects count as one there, too.
 */
import type { Caller } from '../decide/caller.ts'
import { callerWith, columnOfRoles } from '../decide/callers-and-routes.ts'
import type { Policy, Rule } from '../decide/policy.ts'
import { relationsText } from '../decide/relations/ownership.ts'
import { meaningOfCondition } from '../decide/request-conditions/all-conditions.ts'
import { type RolesApart, roleGuaranteesOf, rolesLost } from '../decide/role-guarantees.ts'
import { coversResource, decidedFields, isAbout } from '../decide/rules/terms.ts'
import type { Action, Resource } from '../resources/resource.ts'
import { countedGrants } from './command-answers.ts'
import { type ComparedSpace, type Sides, sidesOf, type Topic } from './compared-space.ts'
import { EVERYWHERE, NOWHERE, type Region, whereNamed } from './regions.ts'
import { canBeOneCaller } from './rule-index.ts'

// ---- Callers --------------------------------------------------------------------------------------------------------

/** A subject alone, and all subjects whose rules apply to it. */
export interface ComparedCaller {
  readonly name: string
  readonly subjects: Sides<ReadonlySet<string>>
  /** The roles that count no more, as this one, for whoever has both. */
  readonly apart: Sides<ReadonlySet<string>>
  /** A caller with these subjects; undefined without credentials. */
  readonly caller: Sides<Caller | undefined>
}

/** anonymous, everyone (a caller with no role), each role and each user that either policy names. */
export function callersOf(policies: Sides<Policy>): readonly ComparedCaller[] {
  const both = (names: (policy: Policy) => Iterable<string>) => {
    return [...new Set([...names(policies.after), ...names(policies.before)])]
  }
  const users = both(({ rules }) => rules.map(({ subject }) => subject).filter((name) => name.startsWith('user:')))
  const kept = sidesOf((side) => roleGuaranteesOf(policies[side]).apart)
  const caller = (name: string, subjectsIn: (policy: Policy) => ReadonlySet<string>): ComparedCaller => {
    const subjects = sidesOf((side) => subjectsIn(policies[side]))
    const apart = sidesOf((side) => rolesApartFrom(name, kept[side]))
    return { name, subjects, apart, caller: sidesOf((side) => callerWith(policies[side], subjects[side])) }
  }
  return [
    caller('everyone', () => new Set(['everyone'])),
    caller('anonymous', () => new Set(['everyone', 'anonymous'])),
    ...both(({ roles }) => roles.keys()).map((role) =>
      caller(role, (policy) => columnOfRoles(policy, [role]).subjects),
    ),
    ...users.map((name) => caller(name, () => new Set(['everyone', name]))),
  ]
}

function rolesApartFrom(role: string, apart: readonly RolesApart[]): ReadonlySet<string> {
  const others = apart.flatMap(({ givenBy }) => (givenBy.has(role) ? [...givenBy.keys()] : []))
  return new Set(others.filter((other) => rolesLost(apart, [role, other]).length > 0))
}

/** A user without a rule here is compared as `everyone`. */
export function callersHere(
  { space: { about } }: Topic,
  callers: readonly ComparedCaller[],
): readonly ComparedCaller[] {
  const rules = [...about.before, ...about.after]
  return callers.filter(({ name }) => !name.startsWith('user:') || rules.some((one) => one.names(name)))
}

/** What is granted to a caller, and to each of its parts alone if it has two: a region for each class of fields. */
export interface Grants {
  readonly granted: Sides<readonly Region[]>
  readonly alone: readonly Sides<readonly Region[]>[]
  readonly possible: Region
}

export interface ComparedGrants extends Grants {
  /** Subjects alone, or some together. */
  readonly callers: Together
  /** In the topic's space of names. */
  readonly byName: Grants
}

/** Subjects of one caller. */
type Together = readonly ComparedCaller[]

/** Each caller alone, then the pairs with a caller whose denies have changed. */
export function* comparisonsOf(topic: Topic, callers: readonly ComparedCaller[]): Generator<ComparedGrants, undefined> {
  const { space, byName } = topic
  const bits = topic.classes.map(([field = '']) => bitOf(topic, field))
  const grantsIn = ({ about, regions }: ComparedSpace, some: Together) =>
    sidesOf((side) => {
      const subjects = subjectsOf(some, side)
      const each = about[side].map((rules) => rules.grantedEach(bits, subjects))
      return bits.map((_, i) => regions.all(each.map((granted) => granted[i] ?? NOWHERE)))
    })
  const alone = [...callers.map((caller) => [caller]), ...(topic.action.also ? allowingTogether(topic, callers) : [])]
  for (const some of alone) {
    const isAnonymous = isNamed(some, 'anonymous')
    const could = isAnonymous ? byName.unrelated : sidesOf(() => EVERYWHERE)
    const granted = grantsIn(byName, some)
    const { regions } = byName
    yield {
      callers: some,
      granted: grantsIn(space, some),
      alone: [],
      possible: isAnonymous ? space.possibleAnonymous : space.possible,
      byName: {
        granted: sidesOf((side) => granted[side].map((region) => regions.both(region, could[side]))),
        alone: [],
        possible: regions.either(could.before, could.after),
      },
    }
  }
  for (const pair of denyingTogether(topic, alone, bits)) {
    const both = pair.flat()
    const grants = (one: ComparedSpace, possible: Region): Grants => ({
      granted: grantsIn(one, both),
      alone: pair.map((some) => grantsIn(one, some)),
      possible,
    })
    yield { callers: both, ...grants(space, space.possible), byName: grants(byName, EVERYWHERE) }
  }
  return undefined
}

/** Every two with allows here, who could be one caller: one may be allowed what the other needs too. */
function allowingTogether({ byName: { about } }: Topic, callers: readonly ComparedCaller[]): readonly Together[] {
  const allowing = new Set([...about.before, ...about.after].flatMap((rules) => [...rules.subjects('allow')]))
  const isAllowing = ({ subjects }: ComparedCaller) =>
    [subjects.before, subjects.after].some((some) => !some.isDisjointFrom(allowing))
  const some = callers.filter(isAllowing).map((caller) => [caller])
  return pairsOf(some, () => true).map((pair) => pair.flat())
}

/** Those whose denies have changed come first. */
function denyingTogether(
  { byName: { about, regions } }: Topic,
  alone: readonly Together[],
  bits: readonly bigint[],
): readonly (readonly [Together, Together])[] {
  const isDenying = (some: Together) => {
    const { before, after } = sidesOf((side) =>
      about[side].flatMap((rules) => rules.extents('deny', subjectsOf(some, side))),
    )
    return bits.some((bit) => whereNamed(regions, before, bit) !== whereNamed(regions, after, bit))
  }
  const denying = new Set(alone.filter(isDenying))
  if (denying.size === 0) return []
  const pairs = pairsOf(alone, (one, other) => denying.has(one) || denying.has(other))
  return pairs.map(([one, other]) => (denying.has(one) ? [one, other] : [other, one]))
}

/** Of each two that count, those that could be one caller. Every caller is `everyone`, and nobody else is `anonymous`. */
function pairsOf(
  alone: readonly Together[],
  counts: (one: Together, other: Together) => boolean,
): readonly (readonly [Together, Together])[] {
  const all = alone.filter((some) => !isNamed(some, 'anonymous') && !isNamed(some, 'everyone'))
  return all.flatMap((one, i) =>
    all
      .slice(i + 1)
      .flatMap((other) => (counts(one, other) && canBeTogether(one, other) ? [[one, other] as const] : [])),
  )
}

function canBeTogether(some: Together, others: Together): boolean {
  const both = [...some, ...others]
  if (!some.every((one) => others.every((other) => canBeOneCaller(one.name, other.name)))) return false
  return lostOf(both, 'before').length === 0 || lostOf(both, 'after').length === 0
}

function isNamed(some: Together, name: string): boolean {
  return some.some((one) => one.name === name)
}

function subjectsOf(some: Together, side: keyof Sides<Policy>): ReadonlySet<string> {
  const lost = lostOf(some, side)
  const kept = some.filter((one) => !lost.includes(one))
  return new Set(['everyone', ...kept.flatMap(({ subjects }) => [...subjects[side]])])
}

/** Whoever has two roles that stay apart has neither. */
function lostOf(some: Together, side: keyof Sides<Policy>): Together {
  return some.filter((one) => some.some((other) => other !== one && one.apart[side].has(other.name)))
}

function bitOf(about: Pick<Topic, 'resource' | 'action'>, field: string): bigint {
  return 1n << BigInt(decidedFields(about).indexOf(field))
}

/** Callers to which two policies grant something else, and where: a region for each class of fields of the topic. */
export interface ChangedCaller {
  readonly callers: Together
  /** Empty where the policies differ by the names of relations alone, which counts for the role level. */
  readonly changed: readonly Region[]
}

/** None is the proof that every caller is granted the same, whatever their subjects are. */
export function* changedCallers(topic: Topic, callers: readonly ComparedCaller[]): Generator<ChangedCaller, undefined> {
  const { onObjects, atRoleLevel } = countedGrants(topic)
  const differing = ({ regions }: ComparedSpace, { granted, possible }: Grants, counted: typeof onObjects) => {
    const { before, after } = sidesOf((side) => counted(granted[side]))
    return after.map((region, i) => regions.both(regions.differ(region, before[i] ?? NOWHERE), possible))
  }
  const isSomewhere = (some: readonly Region[]) => some.some((region) => region !== NOWHERE)
  for (const comparison of comparisonsOf(topic, callers)) {
    const changed = differing(topic.space, comparison, onObjects)
    if (isSomewhere(changed)) yield { callers: comparison.callers, changed }
    else if (isSomewhere(differing(topic.byName, comparison.byName, atRoleLevel)))
      yield { callers: comparison.callers, changed: [] }
  }
  return undefined
}

// ---- What can differ ------------------------------------------------------------------------------------------------

/** The actions on which two policies can decide differently: their rules about them differ, or what names mean. */
export function touchedActions(policies: Sides<Policy>, resource: Resource, of?: SubjectsOf): readonly Action[] {
  const changed = changedRules(policies, resource, of)
  const all = [...resource.actions.values()]
  return changed ? all.filter((action) => changed.some((rule) => isAbout(rule, { resource, action }))) : all
}

/**
 * The rules about a resource that only one of two policies has, for anybody or for a caller whose subjects are given;
 * undefined if names, or the subjects of anybody, have other meanings.
 */
function changedRules(policies: Sides<Policy>, resource: Resource, of?: SubjectsOf): readonly Rule[] | undefined {
  const { before, after } = sidesOf((side) => writtenOf(policies[side]))
  const isMeantAlike =
    (of !== undefined || before.subjects === after.subjects) &&
    before.conditions === after.conditions &&
    vocabularyOf(policies.before, resource) === vocabularyOf(policies.after, resource)
  if (!isMeantAlike) return undefined
  const subjects = of && sidesOf((side) => of(policies[side]))
  const rulesOf = (side: keyof Sides<Policy>) =>
    new Map([...{ before, after }[side].rules].filter(([, { subject }]) => subjects?.[side].has(subject) ?? true))
  const rules = sidesOf(rulesOf)
  return [...rules.before, ...rules.after]
    .filter(([text]) => rules.before.has(text) !== rules.after.has(text))
    .map(([, rule]) => rule)
    .filter((rule) => coversResource(rule, resource))
}

/** The subjects of a caller under a policy: with what the roles inherit there. */
export type SubjectsOf = (policy: Policy) => ReadonlySet<string>

/** What a policy says, as texts that are the same for the same. */
interface PolicyTexts {
  readonly rules: ReadonlyMap<string, Rule>
  readonly subjects: string
  readonly conditions: string
}

const written = new WeakMap<Policy, PolicyTexts>()

function writtenOf(policy: Policy): PolicyTexts {
  return written.getOrInsertComputed(policy, ({ rules, roles, links, conditions }) => ({
    rules: new Map(rules.map(({ line, ...rule }) => [JSON.stringify(rule), { ...rule, line }])),
    subjects: JSON.stringify([[...roles.keys()], links.map(({ role, inherits }) => [role, inherits])]),
    conditions: JSON.stringify([...conditions].map(([name, one]) => [name, meaningOfCondition(one)])),
  }))
}

/** What the names of relations and views mean on a resource, and what is concealed or filled there. */
function vocabularyOf({ ownership, views }: Policy, resource: Resource): string {
  const owned = ownership.get(resource.name)
  return JSON.stringify([
    relationsText(resource, owned),
    owned?.conceal ?? false,
    [...(views.get(resource.name) ?? [])].map(([view, fields]) => [view, [...fields].sort()]),
  ])
}
