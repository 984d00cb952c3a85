/** How callers relate to objects: relations whose meaning changed, who a new object belongs to, and concealing. */

import { coversResource } from '../../decide/grants/evaluate.ts'
import type { Policy, Relation, Rule } from '../../decide/policy.ts'
import { listed, type Phrase, plainText, say } from '../../present/phrase.ts'
import type { Resource, Resources } from '../../resources/resource.ts'
import type { Direction, SettingChange } from './change.ts'
import { type Sides, sidesOf } from './change.ts'
import { meaningOf } from './decisions/relation-space.ts'

const NONE = say`none`

export function compareRelations(policies: Sides<Policy>, { byName }: Resources): readonly SettingChange[] {
  return [...byName.values()].flatMap((resource) => [
    ...changedMeanings(policies, resource),
    ...compareOwners(policies, resource),
    ...compareConceal(policies, resource),
  ])
}

/**
 * One name that means something else: its rules read the same and reach other objects. Relations that are new or gone
 * count by what rules make of them.
 */
function changedMeanings(policies: Sides<Policy>, resource: Resource): readonly SettingChange[] {
  const { before, after } = relationsOf(policies, resource)
  return [...before].flatMap(([name, old]): SettingChange[] => {
    const now = after.get(name)
    if (!now || meaningOf(now) === meaningOf(old)) return []
    const [from, to] = [relationPhrase(old), relationPhrase(now)]
    const texts = { before: plainText(from), after: plainText(to) }
    const sentence = say`relation ${name} on ${resource.name} compares ${from} -> ${to}`
    const direction = directionOf({ before: old, after: now }, rulesWith(policies, resource, name))
    return [{ kind: 'relation', direction, name, resource: resource.name, ...texts, sentence }]
  })
}

/** The field of the relation `owner` defaults to the caller's id (semantics.md, "create"). */
function compareOwners(policies: Sides<Policy>, resource: Resource): readonly SettingChange[] {
  const { before, after } = sidesOf((side) => ownerField(relationsOf(policies, resource)[side].get('owner'), resource))
  if (before === after) return []
  const sentence = say`field for the creator of a new object of ${resource.name}: ${before ?? NONE} -> ${after ?? NONE}`
  return [{ kind: 'owner', direction: 'either', name: 'owner', resource: resource.name, before, after, sentence }]
}

function ownerField(owner: Relation | undefined, { fields }: Resource): string | null {
  if (owner?.kind !== 'caller' || owner.attribute !== 'id') return null
  return fields.get(owner.field)?.readOnly ? null : owner.field
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

/** Known only where the relation holds for more objects than before, or for fewer, and all its rules have one effect. */
function directionOf(relations: Sides<Relation>, rules: readonly Rule[]): Direction {
  if (rules.length === 0) return 'neutral'
  const effects = new Set(rules.map(({ effect }) => effect))
  const reach = reachOf(relations)
  if (reach === undefined || effects.size > 1) return 'either'
  return (reach === 'more') === effects.has('allow') ? 'widening' : 'narrowing'
}

function reachOf({ before, after }: Sides<Relation>): 'more' | 'fewer' | undefined {
  if (before.kind !== 'state' || after.kind !== 'state' || before.field !== after.field) return undefined
  if (before.values.every((value) => after.values.includes(value))) return 'more'
  return after.values.every((value) => before.values.includes(value)) ? 'fewer' : undefined
}

function rulesWith(policies: Sides<Policy>, resource: Resource, relation: string): readonly Rule[] {
  return [...policies.before.rules, ...policies.after.rules].filter(
    (rule) => rule.relations.includes(relation) && coversResource(rule, resource),
  )
}

function relationsOf(policies: Sides<Policy>, { name }: Resource): Sides<ReadonlyMap<string, Relation>> {
  return sidesOf((side) => policies[side].ownership.get(name)?.relations ?? new Map<string, Relation>())
}

function relationPhrase(relation: Relation): Phrase {
  if (relation.kind === 'state') return say`${relation.field} in ${listed(relation.values.map(String), say` or `)}`
  return relation.attribute === 'id'
    ? say`${relation.field}`
    : say`${relation.field} = ${`subject.${relation.attribute}`}`
}
