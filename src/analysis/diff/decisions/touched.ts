/** Which decisions a difference between two policies can touch, by what the policies say: no other needs to be compared. */
import type { Policy, Rule } from '../../../decide/policy.ts'
import { relationsText } from '../../../decide/relations/ownership.ts'
import { meaningOfCondition } from '../../../decide/request-conditions/all-conditions.ts'
import { coversResource, isAbout } from '../../../decide/rules/terms.ts'
import type { Action, Resource } from '../../../resources/resource.ts'
import { type Sides, sidesOf } from '../change.ts'

/** The actions of a resource whose rules, or whose names in rules, differ between two policies; for all others, nothing can. */
export function touchedActions(policies: Sides<Policy>, resource: Resource): readonly Action[] {
  const { before, after } = sidesOf((side) => writtenOf(policies[side]))
  const isMeantAlike =
    before.subjects === after.subjects &&
    before.conditions === after.conditions &&
    vocabularyOf(policies.before, resource) === vocabularyOf(policies.after, resource)
  const all = [...resource.actions.values()]
  if (!isMeantAlike) return all
  const changed = [...before.rules, ...after.rules]
    .filter(([text]) => before.rules.has(text) !== after.rules.has(text))
    .map(([, rule]) => rule)
    .filter((rule) => coversResource(rule, resource))
  return changed.length === 0 ? [] : all.filter((action) => changed.some((rule) => isAbout(rule, { resource, action })))
}

/** What a policy says, as texts that are the same for the same. */
interface Written {
  readonly rules: ReadonlyMap<string, Rule>
  readonly subjects: string
  readonly conditions: string
}

const written = new WeakMap<Policy, Written>()

function writtenOf(policy: Policy): Written {
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
