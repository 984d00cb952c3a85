/**
 * Writes that two policies decide differently because of their result: the relations of the stored object, the
 * conditions, and the relations of the result. Such a write shows a mistake in a rule with a right side.
 */

import { namedConditions, namedRelations, namesOnResult, possibleSets } from '../../../analysis/possible-sets.ts'
import { smallestSubsets } from '../../../base/subsets.ts'
import type { RouteMethod } from '../../../decide/callers-and-routes.ts'
import { type DirectPolicy, directPolicy } from '../../../decide/grants/direct.ts'
import type { Policy, Rule } from '../../../decide/policy.ts'
import { comparedFields, leavesOf, needsCaller } from '../../../decide/relations/all-kinds.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'
import { fitsResult, isAbout, type ResultNames } from '../../../decide/rules/terms.ts'
import type { Resources } from '../../../resources/resource.ts'
import { callerIn, type MatrixColumn } from '../read/expectation.ts'
import { columnKinds } from './columns.ts'

type Names = ReadonlySet<string>

/** Of the relations that rules about the action name, those that hold. */
export interface Write {
  readonly stored: Names
  readonly result: Names
  readonly when: readonly string[]
}

/** Whether right sides of rules tell the results of this write apart. */
function statesResults(policies: readonly Policy[], routeMethod: RouteMethod): boolean {
  return policies.flatMap((policy) => rulesAbout(policy, routeMethod)).some(({ after }) => after)
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
export function* tellingWrites(
  pair: readonly [Policy, Policy],
  routeMethod: RouteMethod,
  resources: Resources,
): Generator<Write, undefined> {
  if (!statesResults(pair, routeMethod)) return undefined
  const [policy] = pair
  const { resource, action } = routeMethod
  const named = namedRelations({ ...policy, rules: pair.flatMap(({ rules }) => rules) }, resource, action)
  const conditions = [...new Set(pair.flatMap((one) => namedConditions(one, resource, action)))]
  const isTelling = telling(pair, routeMethod, resources)
  const results = resultsOf(pair, routeMethod, named)
  for (const when of smallestSubsets(conditions)) {
    for (const before of results.keys()) {
      for (const after of results.get(before) ?? []) {
        const write = askedWrite(named, { before, after, when })
        if (isTelling(write)) yield { stored: new Set(write.stored), result: new Set(write.proposed), when }
      }
    }
  }
  return undefined
}

/** The names of leaves. */
type Leaves = ReadonlySet<string>

/** By the leaves that hold before a write, those that can hold after it; the nearest first. */
function resultsOf(
  pair: readonly Policy[],
  routeMethod: RouteMethod,
  named: readonly Relation[],
): ReadonlyMap<Leaves, readonly Leaves[]> {
  const { resource, route } = routeMethod
  const leaves = named.flatMap(leavesOf)
  const changing = new Set(changingLeaves(pair, routeMethod, leaves).map(({ name }) => name))
  const sets = possibleSets([...new Set(leaves)], resource, { ownRecord: route.kind === 'caller' })
  const kept = (set: Leaves) => [...set.difference(changing)].sort().join('+')
  const groups = Map.groupBy(sets, kept)
  const distance = (one: Leaves, other: Leaves) => one.symmetricDifference(other).size
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

/** The names without conditions. */
interface AskedWrite extends ResultNames {
  readonly when: readonly string[]
  /** The fields that change, and whether a caller without credentials can relate so. */
  readonly fields: readonly string[]
  readonly needsCaller: boolean
}

interface Moments {
  readonly before: Leaves
  readonly after: Leaves
  readonly when: readonly string[]
}

/** The write changes only the fields of relations that differ before and after. */
function askedWrite(named: readonly Relation[], { before, after, when }: Moments): AskedWrite {
  const leaves = named.flatMap(leavesOf)
  return {
    ...namesOnResult(named, { before, after }),
    when,
    fields: leaves.filter(({ name }) => before.has(name) !== after.has(name)).flatMap(comparedFields),
    needsCaller: leaves.some((leaf) => before.has(leaf.name) && needsCaller(leaf)),
  }
}

/** Whether some caller may make the write by one policy alone. */
function telling(
  pair: readonly [Policy, Policy],
  routeMethod: RouteMethod,
  resources: Resources,
): (write: AskedWrite) => boolean {
  const { usual, nobody, users, pairs } = columnKinds(pair)
  const askers = [...usual, nobody, ...users, ...pairs].map((column) => {
    const [one, other] = pair.map((policy) => decider(directOf(policy, resources), column, routeMethod))
    return (write: AskedWrite) => one?.(write) !== other?.(write)
  })
  const [before, after] = pair.map(
    (policy) => new Map(rulesAbout(policy, routeMethod).map((rule) => [textOf(rule), rule])),
  )
  const changed = [...(before ?? []), ...(after ?? [])].filter(([text]) => before?.has(text) !== after?.has(text))
  return (write) => {
    const names = withConditions(write)
    return changed.some(([, rule]) => fitsResult(rule, names)) && askers.some((differs) => differs(write))
  }
}

function textOf({ line: _, ...rule }: Rule): string {
  return JSON.stringify(rule)
}

function withConditions({ stored, mixed, proposed, when }: AskedWrite): ResultNames {
  return { stored: [...stored, ...when], mixed: [...mixed, ...when], proposed }
}

const known = new WeakMap<Policy, DirectPolicy>()

function directOf(policy: Policy, resources: Resources): DirectPolicy {
  return known.getOrInsertComputed(policy, () => directPolicy(policy, resources))
}

/** Whether a caller of the column may make the write. */
function decider(
  grants: DirectPolicy,
  column: MatrixColumn,
  { resource, action }: RouteMethod,
): (write: AskedWrite) => boolean {
  const table = grants.table(grants.subjectOf(callerIn(column)), resource.name, action.name)
  return (write) => {
    if (column.kind === 'anonymous' && write.needsCaller) return false
    const { fields } = table.grantResult(withConditions(write))
    return write.fields.every((field) => fields.has(field))
  }
}
