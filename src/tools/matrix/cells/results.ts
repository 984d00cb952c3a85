/** What writes can make of an object: the sets of relations of the result that right sides of rules tell apart. */
import type { RouteMethod } from '../../../decide/callers-and-routes.ts'
import type { Policy, Rule } from '../../../decide/policy.ts'
import { comparedFields, leavesOf } from '../../../decide/relations/all-kinds.ts'
import { ownerFieldOf } from '../../../decide/relations/ownership.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'
import { isAbout } from '../../../decide/rules/rule.ts'
import { allFit, namesIn } from '../../../decide/rules/terms.ts'

type Names = ReadonlySet<string>

/** Whether the cells of a write state what becomes of the object. */
export function statesResults(policies: readonly Policy[], routeMethod: RouteMethod): boolean {
  const { endpoint, resource } = routeMethod
  const rules = policies.flatMap((policy) => rulesAbout(policy, routeMethod))
  if (endpoint.operation === 'replace' || endpoint.operation === 'update') return rules.some(({ after }) => after)
  if (endpoint.operation !== 'create') return false
  // The server makes the caller the owner, whatever the body says.
  const filled = policies.some(({ ownership }) => ownerFieldOf(resource, ownership.get(resource.name))) ? ['owner'] : []
  const isRelation = (name: string) => policies.some((one) => one.ownership.get(resource.name)?.relations.has(name))
  return rules.flatMap(namesIn).some((name) => isRelation(name) && !filled.includes(name))
}

/** For each group of right sides that fit together, the set that is nearest to the stored one, which isn't among them. */
export function resultsNear(
  policies: readonly Policy[],
  routeMethod: RouteMethod,
  { stored, possible }: { readonly stored: Names; readonly possible: readonly Names[] },
): readonly Names[] {
  const sides = policies
    .flatMap((policy) => rulesAbout(policy, routeMethod))
    .flatMap(({ after }) => (after ? [after] : []))
  const relations = policies.flatMap((one) => [
    ...(one.ownership.get(routeMethod.resource.name)?.relations.values() ?? []),
  ])
  const lasting = relations.filter((relation) => isLasting(routeMethod, relation))
  const reachable = possible
    .filter((set) => set.symmetricDifference(stored).size > 0)
    .filter((set) => lasting.every(({ name }) => set.has(name) === stored.has(name)))
    .toSorted((a, b) => a.symmetricDifference(stored).size - b.symmetricDifference(stored).size)
  const groups = Map.groupBy(reachable, (set) => sides.map((side) => allFit(side, [...set])).join())
  return [...groups.values()].flatMap(([nearest]) => nearest ?? [])
}

/** Whether no write by a client changes the relation: it looks at fields that the server alone sets. */
function isLasting({ resource }: RouteMethod, relation: Relation): boolean {
  const leaves = leavesOf(relation)
  const isServers = (name: string) => name === 'id' || resource.fields.get(name)?.readOnly
  return leaves.every((leaf) => comparedFields(leaf).some(isServers))
}

function rulesAbout({ rules }: Policy, { resource, action }: RouteMethod): readonly Rule[] {
  return rules.filter((rule) => isAbout(rule, { resource, action }))
}
