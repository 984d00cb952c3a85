/** How callers relate to objects: relations whose meaning changed, who a new object belongs to, and concealing. */

import type { Policy, Rule } from '../../decide/policy.ts'
import { kindOf, meaningOf } from '../../decide/relations/all-kinds.ts'
import { ownerFieldOf } from '../../decide/relations/ownership.ts'
import type { Relation } from '../../decide/relations/relation-kind.ts'
import { coversResource } from '../../decide/rules/rule.ts'
import { namesIn } from '../../decide/rules/terms.ts'
import { plainText, say } from '../../present/phrase.ts'
import type { Resource, Resources } from '../../resources/resource.ts'
import type { Direction, SettingChange } from './change.ts'
import { type Sides, sidesOf } from './change.ts'

const NONE = say`none`

export function compareRelations(policies: Sides<Policy>, { byName }: Resources): readonly SettingChange[] {
  return [...byName.values()].flatMap((resource) => [
    ...changedMeanings(policies, resource),
    ...compareOwners(policies, resource),
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
    const [from, to] = [kindOf(old).define(old), kindOf(now).define(now)]
    const texts = { before: plainText(from), after: plainText(to) }
    const sentence = say`relation ${name} on ${resource.name} compares ${from} -> ${to}`
    const direction = directionOf({ before: old, after: now }, rulesWith(policies, resource, name))
    return [{ kind: 'relation', direction, name, resource: resource.name, ...texts, sentence }]
  })
}

/** The field of the relation `owner` defaults to the caller's id (semantics.md, "create"). */
function compareOwners(policies: Sides<Policy>, resource: Resource): readonly SettingChange[] {
  const { before, after } = sidesOf(
    (side) => ownerFieldOf(resource, policies[side].ownership.get(resource.name))?.name ?? null,
  )
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

/**
 * The direction is known only if the relation holds for more objects than before, or for fewer, and all its rules have
 * the same effect.
 */
function directionOf(relations: Sides<Relation>, rules: readonly Rule[]): Direction {
  if (rules.length === 0) return 'neutral'
  const effects = new Set(rules.map(({ effect }) => effect))
  const reach = reachOf(relations)
  if (reach === undefined || effects.size > 1) return 'either'
  return (reach === 'more') === effects.has('allow') ? 'widening' : 'narrowing'
}

function reachOf({ before, after }: Sides<Relation>): 'more' | 'fewer' | undefined {
  return before.kind === after.kind ? kindOf(before).reach(before, after) : undefined
}

function rulesWith(policies: Sides<Policy>, resource: Resource, relation: string): readonly Rule[] {
  return [...policies.before.rules, ...policies.after.rules].filter(
    (rule) => namesIn(rule).includes(relation) && coversResource(rule, resource),
  )
}

function relationsOf(policies: Sides<Policy>, { name }: Resource): Sides<ReadonlyMap<string, Relation>> {
  return sidesOf((side) => policies[side].ownership.get(name)?.relations ?? new Map<string, Relation>())
}
