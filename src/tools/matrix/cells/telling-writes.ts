/**
 * Writes that two policies decide differently because of their result: the relations of the stored object, the
 * conditions, and the relations of the result. Such a write shows a mistake in a rule with a right side.
 */

import { callersHere, callersOf, comparisonsOf } from '../../../analysis/compare.ts'
import { topicsOf } from '../../../analysis/compared-space.ts'
import { namedConditions, namedRelations, namesWith, possibleSets } from '../../../analysis/possible-sets.ts'
import { NOWHERE, type Region, TooManyRegions } from '../../../analysis/regions.ts'
import { SECOND, variablesOf } from '../../../analysis/space.ts'
import { smallestSubsets } from '../../../base/subsets.ts'
import type { RouteMethod } from '../../../decide/callers-and-routes.ts'
import type { Policy, Rule } from '../../../decide/policy.ts'
import { comparedFields, leavesOf } from '../../../decide/relations/all-kinds.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'
import { isAbout } from '../../../decide/rules/terms.ts'

/** Of the relations that rules about the action name, or of their leaves, those that hold. */
export interface Write {
  readonly stored: ReadonlySet<string>
  readonly result: ReadonlySet<string>
  readonly when: readonly string[]
}

/**
 * For each rule with a right side: the policy without it, and with one term less. Whoever notices all of them has seen
 * each term hold and not hold.
 */
export function policiesWithLess(policy: Policy, routeMethod: RouteMethod): readonly Policy[] {
  return rulesAbout(policy, routeMethod)
    .filter(({ after }) => after)
    .flatMap((rule) => {
      const { rules } = policy
      const less = rulesWithLess(rule).map((one) => rules.map((other) => (other === rule ? one : other)))
      return [rules.filter((one) => one !== rule), ...less].map((some) => ({ ...policy, rules: some }))
    })
}

/** The rule without each of its terms, left and right. A right side without terms isn't written. */
function rulesWithLess({ after = [], ...rule }: Rule): readonly Rule[] {
  const left = rule.before.map((_, i): Rule => ({ ...rule, before: rule.before.toSpliced(i, 1), after }))
  const right = after.map((_, i): Rule => (after.length < 2 ? rule : { ...rule, after: after.toSpliced(i, 1) }))
  return [...left, ...right]
}

function rulesAbout({ rules }: Policy, { resource, action }: RouteMethod): readonly Rule[] {
  return rules.filter((rule) => isAbout(rule, { resource, action }))
}

/** The fewest conditions and relations first. */
export function* tellingWrites(pair: readonly [Policy, Policy], routeMethod: RouteMethod): Generator<Write, undefined> {
  const rules = pair.flatMap((one) => rulesAbout(one, routeMethod))
  if (!rules.some(({ after }) => after)) return undefined
  const [policy] = pair
  const { resource, action } = routeMethod
  const named = namedRelations({ ...policy, rules: pair.flatMap(({ rules }) => rules) }, resource, action)
  const conditions = [...new Set(pair.flatMap((one) => namedConditions(one, resource, action)))]
  const isTelling = telling(pair, routeMethod, named)
  const results = resultsOf(pair, routeMethod, named)
  for (const when of smallestSubsets(conditions)) {
    for (const before of results.keys()) {
      for (const after of results.get(before) ?? []) {
        if (!isTelling({ stored: before, result: after, when })) continue
        yield { stored: new Set(namesWith(named, before)), result: new Set(namesWith(named, after)), when }
      }
    }
  }
  return undefined
}

/** By the leaves that hold before a write, those that can hold after it; the nearest first. */
function resultsOf(
  pair: readonly Policy[],
  routeMethod: RouteMethod,
  named: readonly Relation[],
): ReadonlyMap<ReadonlySet<string>, readonly ReadonlySet<string>[]> {
  const { resource, route } = routeMethod
  const leaves = named.flatMap(leavesOf)
  const changing = new Set(changingLeaves(pair, routeMethod, leaves).map(({ name }) => name))
  const sets = possibleSets([...new Set(leaves)], resource, { ownRecord: route.kind === 'caller' })
  const kept = (set: ReadonlySet<string>) => [...set.difference(changing)].sort().join('+')
  const groups = Map.groupBy(sets, kept)
  const distance = (one: ReadonlySet<string>, other: ReadonlySet<string>) => one.symmetricDifference(other).size
  return new Map(
    sets.map((before) => {
      const others = (groups.get(kept(before)) ?? []).filter((after) => after !== before)
      return [before, others.toSorted((a, b) => distance(a, before) - distance(b, before))]
    }),
  )
}

/**
 * The relations without parts that right sides name, and those that look at the same fields. Fields of the server don't
 * change.
 */
function changingLeaves(
  policies: readonly Policy[],
  routeMethod: RouteMethod,
  leaves: readonly Relation[],
): readonly Relation[] {
  const { resource } = routeMethod
  const sides = policies.flatMap((policy) => rulesAbout(policy, routeMethod)).flatMap(({ after = [] }) => after)
  const relations = policies.flatMap((one) => [...(one.ownership.get(resource.name)?.relations.values() ?? [])])
  const looked = relations.filter((relation) => sides.some(({ name }) => name === relation.name)).flatMap(leavesOf)
  const fields = new Set(looked.flatMap(comparedFields))
  const isServers = (name: string) => name === 'id' || resource.fields.get(name)?.readOnly
  return leaves.filter((leaf) => {
    const compared = comparedFields(leaf)
    return compared.some((name) => fields.has(name)) && !compared.some(isServers)
  })
}

/** What both policies grant to each caller about the action; undefined for more names than can be compared. */
function comparedGrants([before, after]: readonly [Policy, Policy], { resource, action }: RouteMethod) {
  const policies = { before, after }
  try {
    const [topic] = topicsOf(policies, resource, [action])
    return topic && { topic, grants: [...comparisonsOf(topic, callersHere(topic, callersOf(policies)))] }
  } catch (error) {
    if (!(error instanceof TooManyRegions)) throw error
    return undefined
  }
}

/** Whether some caller may make the write, told by its leaves, by one policy alone. It changes only the fields of leaves that differ. */
function telling(
  pair: readonly [Policy, Policy],
  routeMethod: RouteMethod,
  named: readonly Relation[],
): (write: Write) => boolean {
  const leaves = [...new Set(named.flatMap(leavesOf))]
  const compared = comparedGrants(pair, routeMethod)
  if (!compared) return () => true
  const { topic, grants } = compared
  const { regions, atoms } = topic.space
  return (write) => {
    const holding = new Set([SECOND, ...atoms.flatMap(({ label, leaf }, i) => heldBy(write, i, leaf?.before, label))])
    const changed = leaves.filter(({ name }) => write.stored.has(name) !== write.result.has(name))
    const fields = changed.flatMap(comparedFields)
    const classes = new Set(fields.map((field) => topic.classes.findIndex((one) => one.includes(field))))
    const mayWrite = (granted: readonly Region[]) =>
      [...classes].every((i) => regions.has(granted[i] ?? NOWHERE, holding))
    return grants.some(
      ({ granted, possible }) => regions.has(possible, holding) && mayWrite(granted.before) !== mayWrite(granted.after),
    )
  }
}

/** The variables of the i-th name that hold; a condition if there is no leaf. */
function heldBy({ stored, result, when }: Write, i: number, leaf: Relation | undefined, label: string) {
  const variables = variablesOf(i)
  if (!leaf) return when.includes(label) ? [variables.before] : []
  return [...(stored.has(leaf.name) ? [variables.before] : []), ...(result.has(leaf.name) ? [variables.after] : [])]
}
