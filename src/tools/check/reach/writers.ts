/** What rules are about: the actions and resources that they cover, and who may write through them. */

import type { ActionRules } from '../../../analysis/action-rules.ts'
import type { ActionRulesIndex } from '../../../analysis/rule-index.ts'
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
  return routed.getOrInsertComputed(resource, ({ external, actions, routes }) => {
    const names = routes.flatMap(({ endpoints }) => [...endpoints.values()].map(({ action }) => action))
    return new Set(external ? actions.keys() : names)
  })
}

export const WRITES: readonly Operation[] = ['create', 'replace', 'update', 'delete']

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

// ---- Finds who may write objects of a path, with which relations and through which rules. The checks that compare
// writing and reading use it.

/** A write and the read of the same path. */
export interface WritePair {
  readonly write: ActionRules
  readonly read: ActionRules
  readonly path: string
  readonly operation: Operation
}

/** Seeing the past of an object, and reading it, as if one of them were a write: both are about the object as it is. */
export function historyPairs(
  { name, routes, canonicalItemPath }: Resource,
  index: ActionRulesIndex,
): readonly WritePair[] {
  return routes.flatMap(({ history, endpoints }) => {
    const write = history && index.rulesOf(name, endpoints.get('GET')?.action ?? '')
    const read = index.rulesOf(name, 'read')
    return write && read ? [{ write, read, path: canonicalItemPath ?? '', operation: 'delete' as const }] : []
  })
}

/** Following objects, and listing or reading them, in the same way: only what all three allow has events. */
export function eventPairs(
  { name, routes, canonicalItemPath }: Resource,
  index: ActionRulesIndex,
): readonly WritePair[] {
  const watch = routes.find(({ events }) => events)
  const write = watch && index.rulesOf(name, watch.endpoints.get('GET')?.action ?? '')
  const list = routes.find(({ endpoints, parent }) => endpoints.get('GET')?.operation === 'list' && !parent)
  const asked = [
    ['list', list?.path],
    ['read', canonicalItemPath],
  ] as const
  return asked.flatMap(([action, path]) => {
    const read = index.rulesOf(name, action)
    return write && read && path !== undefined ? [{ write, read, path, operation: 'delete' as const }] : []
  })
}

/** Every write with a read of the same path; each pair of actions once, with its first path. */
export function pairsOf(
  { name, routes }: Resource,
  index: ActionRulesIndex,
  operations: readonly Operation[],
): readonly WritePair[] {
  const pairs = routes.flatMap(({ path, endpoints }) => {
    const read = index.rulesOf(name, endpoints.get('GET')?.action ?? '')
    const writes = [...endpoints.values()].filter(({ operation }) => operations.includes(operation))
    return writes.flatMap(({ action, operation }) => {
      const write = index.rulesOf(name, action)
      return read && write ? [{ write, read, path, operation }] : []
    })
  })
  const alike = Map.groupBy(pairs, ({ write, read, operation }) =>
    [write.action.name, read.action.name, operation].join(' '),
  )
  return [...alike.values()].flatMap((some) => some.slice(0, 1))
}
