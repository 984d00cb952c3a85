/**
 * Finds who can grant themselves a relation by writing data: the objects and fields on which it rests, or the own users
 * record. Related objects are looked at as they are stored before a write (language.md, "Relations"), so a write that
 * needs the relation itself grants nothing.
 */
import type { Policy, Rule } from '../../../decide/policy.ts'
import { comparedFields, holdsForOwnRecord, leavesOf, needsCaller } from '../../../decide/relations/all-kinds.ts'
import { filledFields } from '../../../decide/relations/ownership.ts'
import { EVERYWHERE, NOWHERE, type Region } from '../../../decide/relations/regions.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'
import type { ActionRules } from '../../../decide/rules/action-rules.ts'
import { withoutAll } from '../../../decide/rules/extents.ts'
import { type ActionRulesIndex, canBeOneCaller } from '../../../decide/rules/rule-index.ts'
import { decisionsOf } from '../../../decide/rules/rule-space.ts'
import { namesIn } from '../../../decide/rules/terms.ts'
import type { Resource, Resources } from '../../../resources/resource.ts'
import { storedResources } from '../../../resources/stored-resources.ts'
import { type Source, sourcesOf } from './sources.ts'
import { trustedBy } from './trust.ts'

const NEVER = { stored: NOWHERE, mixed: NOWHERE, proposed: NOWHERE }

export interface SelfGrant {
  /** The rule that allows the write, and the rule that allows more after it. */
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

export function findSelfGrants(known: Known): readonly SelfGrant[] {
  const { policy, resources } = known
  const writers = policy.rules.filter(({ effect, subject }) => {
    return effect === 'allow' && subject !== 'anonymous' && !policy.roles.get(subject)?.privileged
  })
  return storedResources(resources).flatMap((resource) => {
    const relations = [...(policy.ownership.get(resource.name)?.relations.values() ?? [])]
    const leaves = [...new Set(relations.flatMap(leavesOf))].filter(needsCaller)
    return leaves.flatMap((leaf) => {
      const gained = { leaf, resource, rules: rulesBy(leaf, resource, known) }
      const found = sourcesOf(leaf, resource.name).flatMap((source) => grantsBy(source, gained, writers, known))
      return [...new Map(found.map((one) => [one.write, one])).values()]
    })
  })
}

interface Gained {
  readonly leaf: Relation
  readonly resource: Resource
  /** The allows that name a relation which needs the leaf. */
  readonly rules: readonly Rule[]
}

function rulesBy(leaf: Relation, resource: Resource, { policy }: Known): readonly Rule[] {
  const relations = policy.ownership.get(resource.name)?.relations
  const rests = (name: string) => {
    const relation = relations?.get(name)
    return relation !== undefined && leavesOf(relation).includes(leaf)
  }
  return policy.rules.filter(({ effect, subject, ...rule }) => {
    return effect === 'allow' && !policy.roles.get(subject)?.privileged && namesIn(rule).some(rests)
  })
}

function grantsBy(source: Source, gained: Gained, writers: readonly Rule[], known: Known): readonly SelfGrant[] {
  const { policy, index, resources } = known
  const target = gained.rules.length > 0 ? resources.byName.get(source.resource) : undefined
  const [action = ''] = gained.resource.actions.keys()
  const space = index.rulesOf(gained.resource.name, action)?.space
  if (!target || !space) return []
  return [...target.actions.values()].flatMap((action) => {
    const written = index.rulesOf(target.name, action.name)
    if (!written) return []
    const trusted = (write: Rule) => trustedBy(write, source, space, policy)
    return writers.flatMap((write) => {
      if (!canWrite(write, written, source, known)) return []
      const gain = ruleGained(gained, { subject: write.subject, trusted: trusted(write) }, known)
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
  const namesOf = (fields: bigint) =>
    names.filter((name, i) => !resource.fields.get(name)?.readOnly && (fields >> BigInt(i)) & 1n)
  const subjects = index.subjectsOf(write.subject)
  const left = written.granted([placed], subjects)
  const allowed = written.extents('allow', subjects).reduce((sum, { fields }) => sum | fields, 0n)
  const { changes } = decisionsOf(resource, action)
  const filled = changes
    ? []
    : filledFields(resource, policy.ownership.get(resource.name)).map(({ field }) => field.name)
  const writable = new Set([...namesOf(allowed), ...filled])
  if (!changes && (source.link === undefined || action.name !== 'create' || !writable.has(source.link))) return false
  const where = changes ? whereChanged(source, written, writable) : whereCreated(source, written, writable)
  return left.some(({ fields, region }) => {
    const grants = namesOf(fields).some((name) => source.fields.includes(name))
    return (grants || !changes) && space.regions.both(region, where) !== NOWHERE
  })
}

/** Where a new object has the relation, by fields that the caller may write or that are filled. */
function whereCreated({ relation }: Source, { space }: ActionRules, writable: ReadonlySet<string>): Region {
  if (!relation) return NOWHERE
  const moments = space.follows(relation, (leaf) => {
    const isOpen = comparedFields(leaf).every((name) => writable.has(name) || !needsCaller(leaf))
    return (isOpen && space.momentsOf(leaf)) || NEVER
  })
  return space.regions.both(space.first, moments.stored)
}

/**
 * Where a change of these fields makes the relation hold; with another link, also where it held already, for another
 * object. For the own users record, where the object is that record.
 */
function whereChanged({ relation, link }: Source, { space }: ActionRules, writable: ReadonlySet<string>): Region {
  const { regions, second } = space
  if (!relation) {
    const own = space.leaves.filter(holdsForOwnRecord).flatMap((leaf) => space.momentsOf(leaf)?.stored ?? [])
    return regions.all([second, ...own])
  }
  const { stored, proposed } = space.follows(relation, (leaf) => space.momentsOf(leaf) ?? NEVER)
  const kept = space.whereKept((leaf) => comparedFields(leaf).every((name) => !writable.has(name)))
  const isMoved = link !== undefined && writable.has(link)
  return regions.all([second, kept, proposed, isMoved ? EVERYWHERE : regions.not(stored)])
}

interface Writer {
  readonly subject: string
  readonly trusted: Region
}

/** The first rule that allows the writer something by the relation which it isn't allowed without. */
function ruleGained(
  { leaf, resource, rules }: Gained,
  { subject, trusted }: Writer,
  { index }: Known,
): Rule | undefined {
  return rules.find((rule) => {
    if (!canBeOneCaller(subject, rule.subject)) return false
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
