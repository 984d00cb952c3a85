/** The ways in which a caller can relate to an object of a resource, as its fields allow them. */
import type { Policy, Relation } from '../../policy/policy.ts'
import type { Resource } from '../../resources/resource.ts'

/** Of all relations that ownership.yaml declares for it, smallest first; 2^10 are more than anybody reads. */
const MOST_RELATIONS = 10

export function relationSetsThatCanHold(
  policy: Pick<Policy, 'ownership'>,
  resource: Resource,
): readonly ReadonlySet<string>[] {
  const relations = [...(policy.ownership.get(resource.name)?.relations.values() ?? [])].slice(0, MOST_RELATIONS)
  const sets = relations.reduce<readonly (readonly Relation[])[]>(
    (some, relation) => some.concat(some.map((set) => [...set, relation])),
    [[]],
  )
  return sets.toSorted((a, b) => a.length - b.length).map((set) => new Set(set.map(({ name }) => name)))
}
