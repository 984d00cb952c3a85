/** Every set of the relations that rules about an action name, possible or not. */

import { namedRelations } from '../../src/analysis/possible-sets.ts'
import type { Policy } from '../../src/decide/policy.ts'
import type { Action, Resource } from '../../src/resources/resource.ts'

export function relationSetsOf(policy: Policy, resource: Resource, action: Action): readonly ReadonlySet<string>[] {
  const names = namedRelations(policy, resource, action).map(({ name }) => name)
  const sets = names.reduce<readonly (readonly string[])[]>(
    (some, one) => some.concat(some.map((set) => [...set, one])),
    [[]],
  )
  return sets.toSorted((a, b) => a.length - b.length).map((set) => new Set(set))
}
