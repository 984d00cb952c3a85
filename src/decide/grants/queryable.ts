/** By which fields a list may be filtered and sorted: those that each of its rows shows (semantics.md, "list"). */

import type { Resource } from '../../resources/resource.ts'
import type { Policy, Rule } from '../policy.ts'
import { ruleNames } from './evaluate.ts'

/**
 * `rules`: those that count for the caller and the list before an object is known. The fields stand in the schema's order, and mean something only where the
 * caller may list at all. test/review/diff/queries.test.ts holds them to the server's.
 */
export function queryableFields(policy: Policy, resource: Resource, rules: readonly Rule[]): readonly string[] {
  return [...resource.fields.values()]
    .filter(({ name, indexed }) => indexed || name === 'id')
    .filter(({ name }) => rules.every((rule) => isInEveryRow(policy, rule, resource, name)))
    .map(({ name }) => name)
}

/** An allow names it; a deny doesn't, or it names every field, so that its rows are no rows of the list. */
function isInEveryRow(policy: Policy, rule: Rule, resource: Resource, field: string): boolean {
  const names = (one: string) => ruleNames(policy, rule, resource, one)
  if (rule.effect === 'allow') return names(field)
  return !names(field) || [...resource.fields.keys()].every(names)
}
