/**
 * Finds who can grant themselves a relation by writing data: a write that is allowed, after which the caller is allowed
 * something that it wasn't before, and wouldn't be if the write had left its relations across objects, and its own
 * attributes, as they were. What a line says about the fields of the object itself (`draft>placed`) is no finding.
 */

import type { ActionRules, PlacedRule, RuleGroup } from '../../../analysis/action-rules.ts'
import { type Extent, NOWHERE, type Region, TooManyRegions, withoutAll } from '../../../analysis/regions.ts'
import type { IndexedPolicy } from '../../../analysis/rule-index.ts'
import { type Rule, USERS } from '../../../decide/policy.ts'
import { comparedAttributes, leavesOf, needsCaller, stepOf } from '../../../decide/relations/all-kinds.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'
import type { Operation, Resource } from '../../../resources/resource.ts'
import { storedResources } from '../../../resources/stored-resources.ts'
import { AllowedWrite } from './allowed-write.ts'
import { stepGroups } from './related-objects.ts'
import { type ObjectInSpace, WriteSpace } from './write-space.ts'
import { routedActions, WRITES } from './writers.ts'

interface SelfGrant {
  /** The rule that allows the write, and the rule that allows more after it. */
  readonly write: Rule
  readonly gain: Rule
  readonly written: ActionRules
  readonly relation: Relation
  /** The resource of the relation. */
  readonly resource: Resource
}

/** Lines whose relations and conditions tell too many situations apart. */
interface UndecidedGrant {
  readonly written: ActionRules
  readonly resource: Resource
}

interface SelfGrants {
  readonly found: readonly SelfGrant[]
  readonly undecided: readonly UndecidedGrant[]
}

export function findSelfGrants(known: IndexedPolicy): SelfGrants {
  const found = new Map<string, SelfGrant>()
  const undecided: UndecidedGrant[] = []
  for (const writing of writings(known)) {
    try {
      for (const one of grantsBy(writing, known)) keepFirst(found, one)
    } catch (error) {
      if (!(error instanceof TooManyRegions)) throw error
      undecided.push(writing)
    }
  }
  return { found: [...found.values()], undecided }
}

/** Of the lines that a write leads to, the first is enough for a reader. */
function keepFirst(found: Map<string, SelfGrant>, one: SelfGrant): void {
  const { write, written, resource, relation, gain } = one
  const key = JSON.stringify([write.line, written.resource.name, written.action.name, resource.name, relation.name])
  const other = found.get(key)
  if (!other || gain.line < other.gain.line) found.set(key, one)
}

function writings(known: IndexedPolicy): readonly Writing[] {
  const stored = storedResources(known.resources)
  return stored.flatMap((target) =>
    stored.flatMap((resource) => {
      const leaves = leavesBy(target, resource, known)
      const writes = leaves.length > 0 ? writesTo(target, known) : []
      return writes.map(([written, operation]) => ({ written, operation, resource, leaves }))
    }),
  )
}

/** The leaves of a resource that relate a caller, and rest on objects of another one or on its own users record. */
function leavesBy(target: Resource, resource: Resource, { policy }: IndexedPolicy): readonly Relation[] {
  const relations = [...(policy.ownership.get(resource.name)?.relations.values() ?? [])]
  const isOfCaller = (leaf: Relation) => target.name === USERS && comparedAttributes(leaf).some((name) => name !== 'id')
  const leaves = [...new Set(relations.flatMap(leavesOf))].filter(needsCaller)
  return leaves.filter((leaf) => isOfCaller(leaf) || restsOn(leaf, target, resource))
}

/** Whether a step leads to objects of the target, or begins there and can be led elsewhere. */
function restsOn(leaf: Relation, target: Resource, resource?: Resource): boolean {
  const step = stepOf(leaf)
  if (!step) return false
  const isLed = resource === target && step.by === 'id'
  return isLed || step.resource === target.name || leavesOf(step.relation).some((one) => restsOn(one, target))
}

function writesTo(
  { name, routes }: Resource,
  { index }: IndexedPolicy,
): readonly (readonly [ActionRules, Operation])[] {
  const endpoints = routes.flatMap((route) => [...route.endpoints.values()])
  const writes = endpoints.filter(({ operation }) => WRITES.includes(operation))
  const distinct = new Map(writes.map((one) => [JSON.stringify(one), one]))
  return [...distinct.values()].flatMap(({ action, operation }) => {
    const rules = index.rulesOf(name, action)
    return rules ? [[rules, operation] as const] : []
  })
}

// ---- One kind of write, and one resource ----------------------------------------------------------------------------

interface Writing {
  readonly written: ActionRules
  readonly operation: Operation
  readonly resource: Resource
  readonly leaves: readonly Relation[]
}

interface Gaining {
  readonly allowed: AllowedWrite
  readonly gained: ObjectInSpace
  readonly space: WriteSpace
  readonly writing: Writing
}

function* grantsBy(writing: Writing, known: IndexedPolicy): Iterable<SelfGrant> {
  const { written, operation, resource, leaves } = writing
  const target: ObjectInSpace = { resource: written.resource, space: written.space }
  const place = placeOf(resource, known)
  if (!place) return
  const between = placesBetween(leaves, target.resource, known)
  const isChange = operation === 'replace' || operation === 'update'
  const others = [{ gained: place, others: [place, ...between] }]
  const own = resource === target.resource && isChange ? [{ gained: target, others: between }] : []
  for (const around of [...others, ...own]) {
    const space = new WriteSpace({ operation, written: target, others: around.others, resources: known.resources })
    const allowed = new AllowedWrite({ space, operation, written, place: target }, known)
    const gaining = { allowed, gained: around.gained, space, writing }
    for (const caller of callersOf(writing, known)) yield* grantsTo(caller, gaining, known)
  }
}

/** To try more pairs of subjects takes longer than a person would wait. */
const MOST_PAIRS = 256

/** A subject that may write, and the same or another one that may be allowed more. */
function callersOf({ written, resource }: Writing, { policy, index }: IndexedPolicy): readonly WritingCaller[] {
  const counts = (name: string) => name !== 'anonymous' && !policy.roles.get(name)?.privileged
  const allowed = gainedActions(resource).flatMap((name) => [
    ...(index.rulesOf(resource.name, name)?.subjects('allow') ?? []),
  ])
  const others = [...new Set(allowed)].filter(counts)
  const writers = [...written.subjects('allow')].filter(counts)
  if (writers.length * others.length > MOST_PAIRS) throw new TooManyRegions(written.resource.name)
  return writers.flatMap((subject) =>
    others
      .filter((other) => index.canBeOneCaller(subject, other))
      .map((other) => ({ subject, other, subjects: index.subjectsOf(subject).union(index.subjectsOf(other)) })),
  )
}

function placeOf(resource: Resource, { index }: IndexedPolicy): ObjectInSpace | undefined {
  const [action = ''] = resource.actions.keys()
  const space = index.rulesOf(resource.name, action)?.space
  return space && { resource, space }
}

/** The objects between: one for each way from the leaves to the target. */
function placesBetween(leaves: readonly Relation[], target: Resource, known: IndexedPolicy): readonly ObjectInSpace[] {
  return stepGroups(leaves).flatMap(({ resource: name, leaves: group }) => {
    const further = [...new Set(group.flatMap(({ step }) => leavesOf(step.relation)))].filter((leaf) =>
      restsOn(leaf, target),
    )
    const resource = known.resources.byName.get(name)
    const place = resource && further.length > 0 ? placeOf(resource, known) : undefined
    return place ? [place, ...placesBetween(further, target, known)] : []
  })
}

function gainedActions(resource: Resource): readonly string[] {
  return [...routedActions(resource)].filter((name) => name !== 'options')
}

// ---- One caller -----------------------------------------------------------------------------------------------------

interface WritingCaller {
  readonly subject: string
  readonly other: string
  readonly subjects: ReadonlySet<string>
}

function* grantsTo(caller: WritingCaller, gaining: Gaining, known: IndexedPolicy): Iterable<SelfGrant> {
  const { written, resource } = gaining.writing
  for (const gain of gainsOf(caller, gaining, known)) {
    const [first] = gain.gain.rules
    for (const write of writersOf(caller, gain, gaining)) {
      if (first) yield { write, gain: first.rule, written, relation: gain.leaf, resource }
    }
  }
}

interface Gain {
  readonly gains: ActionRules
  readonly gain: RuleGroup
  readonly leaf: Relation
  /** All subjects of the caller. */
  readonly subjects: ReadonlySet<string>
}

/** What the caller could be allowed, each time with a leaf on which that, or a deny, rests. */
function gainsOf(caller: WritingCaller, { writing }: Gaining, { index, policy }: IndexedPolicy): readonly Gain[] {
  const { resource, leaves } = writing
  const relations = policy.ownership.get(resource.name)?.relations
  const rests = (group: RuleGroup, leaf: Relation) =>
    group.rules.slice(0, 1).some(({ rule }) =>
      rule.before.some(({ name }) => {
        const relation = relations?.get(name)
        return relation !== undefined && leavesOf(relation).includes(leaf)
      }),
    )
  return gainedActions(resource).flatMap((name) => {
    const gains = index.rulesOf(resource.name, name)
    if (!gains) return []
    const denying = [...gains.subjects('deny')].map((subject) => ({
      subject,
      leaves: leaves.filter((leaf) => gains.groups('deny', subject).some((group) => rests(group, leaf))),
    }))
    const further = denying.filter(({ subject, leaves: some }) => {
      const canJoin = [caller.subject, caller.other].every((one) => index.canBeOneCaller(subject, one))
      return some.length > 0 && canJoin && !caller.subjects.has(subject)
    })
    const callers = [caller.subjects, ...further.map(({ subject }) => caller.subjects.union(index.subjectsOf(subject)))]
    return callers.flatMap((subjects) => {
      const denied = denying.filter(({ subject }) => subjects.has(subject)).flatMap((one) => one.leaves)
      return gains.groups('allow', caller.other).flatMap((gain) => {
        const about = leaves.filter((leaf) => denied.includes(leaf) || rests(gain, leaf))
        return about.map((leaf) => ({ gains, gain, leaf, subjects }))
      })
    })
  })
}

/** The rules of the subject that allow the write: each alone, or those that take part if no rule alone is enough. */
function writersOf({ subject }: WritingCaller, gain: Gain, gaining: Gaining): readonly Rule[] {
  const { allowed, space } = gaining
  const { subjects } = gain
  const { written } = gaining.writing
  const rulesOf = (name: string) => written.groups('allow', name).flatMap((group) => group.rules)
  const isEnough = (rule: PlacedRule) => isGained(allowed.by([rule], subjects), gain, gaining)
  const alone = rulesOf(subject).filter(isEnough)
  if (alone.length > 0) return alone.map(({ rule }) => rule)
  const all = written.extents('allow', subjects)
  const write = allowed.by(all, subjects)
  if (!isGained(write, gain, gaining) || [...subjects].some((name) => rulesOf(name).some(isEnough))) return []
  const takesPart = (rule: PlacedRule) => space.regions.both(write, allowed.takesPart(rule, subjects))
  return rulesOf(subject)
    .filter((rule) => isGained(takesPart(rule), gain, gaining))
    .map(({ rule }) => rule)
}

/** Whether the lines allow something after the write that nothing allowed before, or would without the relation. */
function isGained(write: Region, { gains, gain, leaf, subjects }: Gain, gaining: Gaining): boolean {
  const { space, gained, allowed } = gaining
  const { regions } = space
  const where = regions.all([write, space.changes(gained, leaf), ...whereNew(gains, gaining)])
  if (where === NOWHERE) return false
  const at = (extents: readonly Extent[], moment: 'old' | 'new' | 'without') =>
    extents.map(({ fields, region }) => ({ fields, region: allowed.translated(gained, moment)(region) }))
  const after = at(gains.granted([gain], subjects), 'new')
    .map(({ fields, region }) => ({ fields, region: regions.both(region, where) }))
    .filter(({ region }) => region !== NOWHERE)
  const all = gains.granted(gains.extents('allow', subjects), subjects)
  return withoutAll(regions, after, [...at(all, 'old'), ...at(all, 'without')]).length > 0
}

/** What is created isn't what was written, and no other object leads to it. */
function whereNew({ resource, action }: ActionRules, { space, gained }: Gaining): readonly Region[] {
  const endpoints = resource.routes.flatMap((route) => [...route.endpoints.values()])
  if (!endpoints.filter((one) => one.action === action.name).every(({ operation }) => operation === 'create')) return []
  if (space.isWritten(gained)) return [NOWHERE]
  const led = gained.space.leaves.filter((leaf) => stepOf(leaf) && stepOf(leaf)?.by !== 'id')
  return led.flatMap((leaf) => [
    space.regions.not(space.holds(gained, leaf, 'old')),
    space.regions.not(space.holds(gained, leaf, 'new')),
  ])
}
