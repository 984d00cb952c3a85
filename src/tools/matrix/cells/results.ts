/** What writes can make of an object: the sets of relations of the result that right sides of rules tell apart. */
import type { RouteMethod } from '../../../decide/callers-and-routes.ts'
import type { Policy, Rule } from '../../../decide/policy.ts'
import { comparedFields, kindOf, leavesOf } from '../../../decide/relations/all-kinds.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'
import { isAbout } from '../../../decide/rules/rule.ts'
import { allFit } from '../../../decide/rules/terms.ts'

type Names = ReadonlySet<string>

/** Whether rules tell the results of this write apart. */
export function statesResults(policies: readonly Policy[], routeMethod: RouteMethod): boolean {
  return policies.flatMap((policy) => rulesAbout(policy, routeMethod)).some(({ after }) => after)
}

/** For each group of results that right sides tell apart, the one that is nearest to the stored set and differs from it. */
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
  // What compares the caller must hold after the write too, so results without it are told apart.
  const caller = relations.filter((relation) =>
    leavesOf(relation).some((leaf) => kindOf(leaf).onResultOfWrite === 'proposed'),
  )
  const loses = (set: Names) => caller.some(({ name }) => stored.has(name) && !set.has(name))
  const groups = Map.groupBy(reachable, (set) => [loses(set), ...sides.map((side) => allFit(side, [...set]))].join())
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
