/**
 * Finds who can grant themselves a relation by writing data: the objects and fields on which it rests, or the own users
 * record. Related objects are looked at as they are stored before a write (language.md, "Relations"), so a write that
 * needs the relation itself grants nothing.
 */
import { type Policy, type Rule, USERS } from '../../../decide/policy.ts'
import {
  comparedAttributes,
  comparedFields,
  holdsForOwnRecord,
  leavesOf,
  needsCaller,
  stepOf,
} from '../../../decide/relations/all-kinds.ts'
import { filledFields } from '../../../decide/relations/ownership.ts'
import { EVERYWHERE, NOWHERE, type Region } from '../../../decide/relations/regions.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'
import type { ActionRules } from '../../../decide/rules/action-rules.ts'
import { withoutAll } from '../../../decide/rules/extents.ts'
import { type ActionRulesIndex, canBeOneCaller } from '../../../decide/rules/rule-index.ts'
import { decisionsOf } from '../../../decide/rules/rule-space.ts'
import { namesIn } from '../../../decide/rules/terms.ts'
import type { Resource, Resources } from '../../../resources/resource.ts'

export interface SelfGrant {
  /** The rule by which the data is written, and the rule that then allows more. */
  readonly write: Rule
  readonly gain: Rule
  readonly written: ActionRules
  readonly relation: Relation
  /** The resource of the relation. */
  readonly resource: Resource
}

interface Known {
  readonly policy: Policy
  readonly resources: Resources
  readonly index: ActionRulesIndex
}

/** Data on which a relation rests. */
interface Source {
  readonly resource: string
  readonly fields: readonly string[]
  /** The field by which new objects name the object that the relation is about; absent where new ones don't count. */
  readonly link?: string
  /** What a change must make hold; absent for the caller's own users record. */
  readonly relation?: Relation
  /** The resource to which `link` leads. */
  readonly to?: string
}

export function findSelfGrants(known: Known): readonly SelfGrant[] {
  const { policy, resources } = known
  return [...resources.byName.values()].flatMap((resource) => {
    const relations = [...(policy.ownership.get(resource.name)?.relations.values() ?? [])]
    const leaves = [...new Set(relations.flatMap(leavesOf))].filter(needsCaller)
    return leaves.flatMap((leaf) => {
      const found = sourcesOf(leaf, resource.name).flatMap((source) => grantsBy(source, { leaf, resource }, known))
      return [...new Map(found.map((one) => [one.write, one])).values()]
    })
  })
}

function sourcesOf(leaf: Relation, resource: string): readonly Source[] {
  const ofCaller = comparedAttributes(leaf).filter((name) => name !== 'id')
  const own: readonly Source[] = ofCaller.length === 0 ? [] : [{ resource: USERS, fields: ofCaller }]
  return [...own, ...stepSources(leaf, resource)]
}

function stepSources(leaf: Relation, resource: string): readonly Source[] {
  const step = stepOf(leaf)
  if (!step) return []
  const fields = comparedFields(leaf).filter((name) => name !== 'id')
  const pointer: readonly Source[] = fields.length === 0 ? [] : [{ resource, fields, relation: leaf }]
  const inner = { resource: step.resource, relation: step.relation, fields: comparedFields(step.relation) }
  const target: Source =
    step.by === 'id' ? inner : { ...inner, fields: [...inner.fields, step.by], link: step.by, to: resource }
  const further = leavesOf(step.relation).flatMap((one) => stepSources(one, step.resource))
  return [...pointer, target, ...further]
}

interface Gained {
  readonly leaf: Relation
  readonly resource: Resource
}

function grantsBy(source: Source, gained: Gained, known: Known): readonly SelfGrant[] {
  const { policy, index, resources } = known
  const target = resources.byName.get(source.resource)
  if (!target) return []
  return [...target.actions.values()].flatMap((action) => {
    const written = index.rulesOf(target.name, action.name)
    if (!written) return []
    const writers = policy.rules.filter(({ effect, subject }) => {
      return effect === 'allow' && subject !== 'anonymous' && !policy.roles.get(subject)?.privileged
    })
    return writers.flatMap((write) => {
      if (!canWrite(write, written, source, known)) return []
      const trusted = trustedBy(write, source, gained, known)
      const gain = trusted === undefined ? undefined : ruleGained(gained, { subject: write.subject, trusted }, known)
      return gain && gain !== write ? [{ write, gain, written, relation: gained.leaf, resource: gained.resource }] : []
    })
  })
}

/** Whether the rule allows a write that makes the source's relation hold where it didn't. */
function canWrite(write: Rule, written: ActionRules, source: Source, { policy, index }: Known): boolean {
  const { space, resource, action } = written
  const placed = written.placed(write)
  if (!placed || !action.hasFields) return false
  const names = [...resource.fields.keys()]
  const bitsOf = (fields: readonly string[]) =>
    fields.reduce(
      (sum, name) => (resource.fields.get(name)?.readOnly ? sum : sum | (1n << BigInt(names.indexOf(name)))),
      0n,
    )
  const left = written.granted([placed], index.subjectsOf(write.subject))
  const { changes } = decisionsOf(resource, action)
  const grants = (fields: bigint, where: Region) =>
    left.some((one) => (one.fields & fields) !== 0n && space.regions.both(one.region, where) !== NOWHERE)
  if (changes) return grants(bitsOf(source.fields), space.regions.both(space.second, whereNew(source, written)))
  if (source.link === undefined || action.name !== 'create') return false
  const filled = filledFields(resource, policy.ownership.get(resource.name)).map(({ field }) => field.name)
  return filled.includes(source.link) ? left.length > 0 : grants(bitsOf([source.link]), space.first)
}

/** Where a change makes the relation hold; for the own users record, where the object is that record. */
function whereNew({ relation }: Source, { space }: ActionRules): Region {
  const { regions } = space
  if (!relation) {
    return regions.all(space.leaves.filter(holdsForOwnRecord).flatMap((leaf) => space.momentsOf(leaf)?.stored ?? []))
  }
  const { stored, proposed } = space.follows(relation, (leaf) => {
    return space.momentsOf(leaf) ?? { stored: NOWHERE, mixed: NOWHERE, proposed: NOWHERE }
  })
  return regions.minus(proposed, stored)
}

/**
 * Where the caller is trusted by the object to write the source already: the write needs a relation to the object that
 * `link` names. Undefined where that object isn't the one that the relation is about.
 */
function trustedBy(
  write: Rule,
  { resource, link, to }: Source,
  gained: Gained,
  { policy, index }: Known,
): Region | undefined {
  const relations = policy.ownership.get(resource)?.relations
  const needed = [...write.before, ...(write.after ?? [])].flatMap(({ name, negated }) => {
    const relation = negated ? undefined : relations?.get(name)
    const step = relation && stepOf(relation)
    const isLink = relation && step && step.by === 'id' && comparedFields(relation).every((field) => field === link)
    return isLink && step.resource === to && needsCaller(relation) ? [step.relation] : []
  })
  if (needed.length === 0) return EVERYWHERE
  const space = index.rulesOf(gained.resource.name, 'read')?.space
  if (to !== gained.resource.name || !space) return undefined
  const leafMoments = (leaf: Relation) =>
    space.momentsOf(leaf) ?? { stored: NOWHERE, mixed: NOWHERE, proposed: NOWHERE }
  return space.regions.all(needed.map((relation) => space.follows(relation, leafMoments).stored))
}

interface Writer {
  readonly subject: string
  readonly trusted: Region
}

/** The first rule that allows the writer something by the relation which it isn't allowed without. */
function ruleGained({ leaf, resource }: Gained, { subject, trusted }: Writer, known: Known): Rule | undefined {
  const { policy, index } = known
  const relations = policy.ownership.get(resource.name)?.relations
  const rests = (name: string) => {
    const relation = relations?.get(name)
    return relation !== undefined && leavesOf(relation).includes(leaf)
  }
  return policy.rules
    .filter((rule) => rule.effect === 'allow' && namesIn(rule).some(rests))
    .filter((rule) => canBeOneCaller(subject, rule.subject) && !policy.roles.get(rule.subject)?.privileged)
    .find((rule) => {
      const subjects = index.subjectsOf(subject).union(index.subjectsOf(rule.subject))
      const places = index.placesOf(rule).filter((place) => place.resource === resource)
      return places.some((place) => widens(place, rule, { leaf, trusted, subjects }))
    })
}

interface Widening {
  readonly leaf: Relation
  readonly trusted: Region
  readonly subjects: ReadonlySet<string>
}

/** Whether the rule allows something where the leaf holds, which nothing allows where it doesn't. */
function widens(place: ActionRules, rule: Rule, { leaf, trusted, subjects }: Widening): boolean {
  const { regions, first } = place.space
  const placed = place.placed(rule)
  const moments = place.space.momentsOf(leaf)
  if (!placed || !moments) return false
  const isHeld = place.space.variablesOf(leaf)
  const whether = (region: Region) => regions.whatever(region, (variable) => isHeld.has(variable))
  const lacking = regions.not(moments.stored)
  const start = whether(regions.both(trusted, lacking))
  return place.granted([placed], subjects).some(({ fields, region }) => {
    const held = regions.both(start, whether(regions.all([region, first, moments.stored])))
    const allowed = place.granted(place.extents('allow', subjects), subjects)
    const before = { fields, region: held }
    const already = allowed.map((one) => ({
      fields: one.fields,
      region: whether(regions.all([one.region, first, lacking])),
    }))
    return held !== NOWHERE && withoutAll(regions, [before], already).length > 0
  })
}
