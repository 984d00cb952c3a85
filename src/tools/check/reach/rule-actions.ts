/** The resources and actions that a rule is about, as the schemas declare them, and the actions that have a route. */

import type { Rule } from '../../../decide/policy.ts'
import { coversResource } from '../../../decide/rules/terms.ts'
import type { Operation, Resource, Resources } from '../../../resources/resource.ts'

export function coveredBy(rule: Rule, { byName }: Resources): readonly Resource[] {
  const exact = byName.get(rule.resource)
  return exact ? [exact] : [...byName.values()].filter((resource) => coversResource(rule, resource))
}

/** The actions that a rule names; none for `*`. */
export function explicitActions({ actions }: Rule): readonly string[] {
  return actions.filter((name) => name !== '*')
}

const routed = new WeakMap<Resource, ReadonlySet<string>>()

/** The actions that some method of some route needs; every action of a resource that is kept elsewhere. */
export function routedActions(resource: Resource): ReadonlySet<string> {
  const known = routed.get(resource)
  if (known) return known
  const names = resource.routes.flatMap(({ endpoints }) => [...endpoints.values()].map(({ action }) => action))
  const actions = new Set(resource.external ? resource.actions.keys() : names)
  routed.set(resource, actions)
  return actions
}

const WRITES: readonly Operation[] = ['create', 'replace', 'update', 'delete']

/** The actions that change objects, the resource's own ones included. */
export function writingActions({ actions, routes }: Resource): ReadonlySet<string> {
  // A question to the policy changes nothing.
  const own = routes
    .filter(({ exchange }) => exchange === undefined)
    .flatMap(({ endpoints }) => [...endpoints.values()])
    .filter(({ operation }) => WRITES.includes(operation))
    .map(({ action }) => action)
  return new Set([...WRITES, ...own].filter((name) => actions.has(name)))
}

/** The actions of this set that a rule is about. */
export function performed({ actions }: Rule, of: ReadonlySet<string>): readonly string[] {
  return [...of].filter((name) => actions.includes('*') || actions.includes(name))
}
