/** The names of relations and conditions whose meaning changed, and what relations do to new and hidden objects. */
import type { Policy, Rule, Term } from '../../decide/policy.ts'
import { comparedFields, isLeaf, kindOf, leavesOf, meaningOf, stepOf } from '../../decide/relations/all-kinds.ts'
import { filledFields, ownerFieldOf } from '../../decide/relations/ownership.ts'
import type { Relation, RelationStep } from '../../decide/relations/relation-kind.ts'
import {
  describeCondition,
  isConditionWithin,
  meaningOfCondition,
  type RequestCondition,
} from '../../decide/request-conditions/all-conditions.ts'
import { coversResource } from '../../decide/rules/terms.ts'
import { plainText, say } from '../../present/phrase.ts'
import type { Resource, Resources } from '../../resources/resource.ts'
import { type Sides, sidesOf } from '../compared-space.ts'
import type { Direction, SettingChange } from './change.ts'

const NONE = say`none`

export function compareRelations(policies: Sides<Policy>, { byName }: Resources): readonly SettingChange[] {
  return [...byName.values()].flatMap((resource) => [
    ...changedMeanings(policies, resource),
    ...compareFilled(policies, resource),
    ...compareConceal(policies, resource),
  ])
}

/**
 * Names with a changed meaning: their rules look the same, but reach other objects. New and deleted relations count
 * only through the rules that use them.
 */
function changedMeanings(policies: Sides<Policy>, resource: Resource): readonly SettingChange[] {
  const { before, after } = relationsOf(policies, resource)
  return [...before].flatMap(([name, old]): SettingChange[] => {
    const now = after.get(name)
    if (!now || meaningOf(now) === meaningOf(old)) return []
    // What changes because it consists of other relations is reported with the decisions, and with those relations.
    if (!isLeaf(old) && !isLeaf(now)) return []
    const [from, to] = [kindOf(old).define(old), kindOf(now).define(now)]
    const texts = { before: plainText(from), after: plainText(to) }
    const sentence = say`relation ${name} on ${resource.name} compares ${from} -> ${to}`
    const direction = directionFrom(reachOf({ before: old, after: now }), usesOf(policies, resource, name))
    return [{ kind: 'relation', direction, name, resource: resource.name, ...texts, sentence }]
  })
}

/**
 * The field of the relation `owner` gets the caller's id, and other relations fill theirs (docs/semantics.md,
 * "create").
 */
function compareFilled(policies: Sides<Policy>, resource: Resource): readonly SettingChange[] {
  const owner = sidesOf((side) => ownerFieldOf(resource, policies[side].ownership.get(resource.name))?.name ?? null)
  const filled = sidesOf((side) => filledBy(policies[side], resource, owner[side]))
  const fields = [...filled.before.keys(), ...filled.after.keys()]
  return [
    ...compareOwners(owner, resource),
    ...[...new Set(fields)].flatMap((field): SettingChange[] => {
      const { before, after } = sidesOf((side) => filled[side].get(field) ?? null)
      if (before === after) return []
      const sentence = say`field ${field} of a new object of ${resource.name}: filled with ${before ?? NONE} -> ${after ?? NONE}`
      return [{ kind: 'fill', direction: 'either', name: field, resource: resource.name, before, after, sentence }]
    }),
  ]
}

/** Field to the attribute of the caller that fills it, without the owner's. */
function filledBy(policy: Policy, resource: Resource, owner: string | null): ReadonlyMap<string, string> {
  const filled = filledFields(resource, policy.ownership.get(resource.name))
  const others = filled.filter(({ field, attribute }) => field.name !== owner || attribute !== 'id')
  return new Map(others.map(({ field, attribute }) => [field.name, `subject.${attribute}`]))
}

function compareOwners({ before, after }: Sides<string | null>, resource: Resource): readonly SettingChange[] {
  if (before === after) return []
  const sentence = say`field for the creator of a new object of ${resource.name}: ${before ?? NONE} -> ${after ?? NONE}`
  return [{ kind: 'owner', direction: 'either', name: 'owner', resource: resource.name, before, after, sentence }]
}

function compareConceal(policies: Sides<Policy>, { name }: Resource): readonly SettingChange[] {
  const { before, after } = sidesOf((side) => policies[side].ownership.get(name)?.conceal ?? false)
  if (before === after) return []
  const sentence = after
    ? say`an object of ${name} that a caller may not read is concealed (404 instead of 403)`
    : say`an object of ${name} that a caller may not read is no longer concealed (403 instead of 404)`
  const direction = after ? 'narrowing' : 'widening'
  return [{ kind: 'conceal', direction, name: 'conceal', resource: name, before, after, sentence }]
}

function reachOf({ before, after }: Sides<Relation>): MeaningChange | undefined {
  if (before.kind !== after.kind) return undefined
  return kindOf(before).reach(before, after) ?? reachOfStep({ before, after })
}

/** Of two relations that rest on the same objects, as the relations of these objects do. */
function reachOfStep({ before, after }: Sides<Relation>): MeaningChange | undefined {
  const [old, now] = [stepOf(before), stepOf(after)]
  if (!old || !now) return undefined
  const way = (relation: Relation, { resource, by, depth }: RelationStep) =>
    JSON.stringify([comparedFields(relation), resource, by, depth])
  return way(before, old) === way(after, now) ? reachOf({ before: old.relation, after: now.relation }) : undefined
}

/** How rules use the relation, alone or as a part of others. */
function usesOf(policies: Sides<Policy>, resource: Resource, name: string): readonly Use[] {
  return (['before', 'after'] as const).flatMap((side) => {
    const relations = relationsOf(policies, resource)[side]
    const isPart = (term: Term) => {
      const named = relations.get(term.name)
      return term.name === name || (named !== undefined && leavesOf(named).some((leaf) => leaf.name === name))
    }
    const rules = policies[side].rules.filter((rule) => coversResource(rule, resource))
    return usesIn(rules, isPart)
  })
}

function relationsOf(policies: Sides<Policy>, { name }: Resource): Sides<ReadonlyMap<string, Relation>> {
  return sidesOf((side) => policies[side].ownership.get(name)?.relations ?? new Map<string, Relation>())
}

// ---- Conditions of requests whose meaning changed. New and deleted conditions count only through the rules that
// use them.

export function compareConditions({ before, after }: Sides<Policy>): readonly SettingChange[] {
  return [...before.conditions].flatMap(([name, old]): SettingChange[] => {
    const now = after.conditions.get(name)
    if (!now || meaningOfCondition(now) === meaningOfCondition(old)) return []
    const texts = { before: describeCondition(old), after: describeCondition(now) }
    const sentence = say`condition ${name}: ${texts.before} -> ${texts.after}`
    const uses = [before, after].flatMap(({ rules }) => usesIn(rules, (term) => term.name === name))
    const direction = directionFrom(reachOfCondition({ before: old, after: now }), uses)
    return [{ kind: 'condition', direction, name, ...texts, sentence }]
  })
}

/** Undefined where neither is known to hold whenever the other does. */
function reachOfCondition({ before, after }: Sides<RequestCondition>): MeaningChange | undefined {
  if (isConditionWithin(before, after)) return 'more'
  return isConditionWithin(after, before) ? 'fewer' : undefined
}

// ---- The direction of a name with a changed meaning: it follows from the requests that the name holds for, and
// from its uses.

/** Whether a name holds more often than before, or less often. */
type MeaningChange = 'more' | 'fewer'

/** Whether a rule allows more where the name holds more often. */
type Use = 'widens' | 'narrows'

function usesIn(rules: readonly Rule[], isUse: (term: Term) => boolean): readonly Use[] {
  return rules.flatMap(({ before, after = [], effect }) =>
    [...before, ...after].filter(isUse).map((term) => ((effect === 'allow') === !term.negated ? 'widens' : 'narrows')),
  )
}

/** The direction is known only if the reach is known and all uses agree. */
function directionFrom(reach: MeaningChange | undefined, uses: readonly Use[]): Direction {
  if (uses.length === 0) return 'neutral'
  const [use, ...others] = new Set(uses)
  if (reach === undefined || others.length > 0) return 'either'
  return (reach === 'more') === (use === 'widens') ? 'widening' : 'narrowing'
}
