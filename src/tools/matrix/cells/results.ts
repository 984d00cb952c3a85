/** What writes leave: the transitions that show each term of a rule with a right side, and new objects. */
import type { RouteMethod } from '../../../decide/callers-and-routes.ts'
import type { Policy } from '../../../decide/policy.ts'
import { type Known, relatability } from '../arrange/relatability.ts'
import { completed, conditionSets, namedBy, type Situation, setsOf, stateOf, whenOf } from './situations.ts'
import { policiesWithLess, tellingWrites, type Write } from './telling-writes.ts'

/** What writes leave, as far as rules tell it apart. A redirect is answered before that counts. */
export function* resultsOf(
  policies: readonly Policy[],
  routeMethod: RouteMethod,
  known: Known,
): Generator<Situation, undefined> {
  const [policy] = policies
  if (!policy || routeMethod.route.redirect) return undefined
  if (routeMethod.endpoint.operation === 'create') return yield* createdOf(policies, routeMethod, known)
  const situations = writesByTerm(policy, routeMethod, known)
  yield* new Map(situations.map((one) => [JSON.stringify(one), one])).values()
  return undefined
}

/** By path and operation. */
const found = new WeakMap<Policy, Map<string, readonly Situation[]>>()

/** For each rule with a right side, and for each of its terms, a write that it decides. */
function writesByTerm(policy: Policy, routeMethod: RouteMethod, files: Known): readonly Situation[] {
  const key = `${routeMethod.route.path} ${routeMethod.endpoint.operation}`
  const known = found.getOrInsertComputed(policy, () => new Map<string, readonly Situation[]>())
  return known.getOrInsertComputed(key, () =>
    policiesWithLess(policy, routeMethod).flatMap((less) => [...writesOf([policy, less], routeMethod, files).take(1)]),
  )
}

function writesOf(
  pair: readonly [Policy, Policy],
  routeMethod: RouteMethod,
  known: Known,
): IteratorObject<Situation, undefined> {
  const writes = tellingWrites(pair, routeMethod, known.resources)
  return writes.flatMap((write) => situationOf(pair, routeMethod, known, write))
}

/** The write, with all relations that then hold; empty if there can be no such object. */
export function situationOf(
  policies: readonly Policy[],
  routeMethod: RouteMethod,
  known: Known,
  { stored, result, when }: Write,
): readonly Situation[] {
  const [policy] = policies
  const named = namedBy(policies, routeMethod)
  const before = policy && completed(policy, routeMethod, known, { set: stored, named })
  if (!policy || !before) return []
  const same = result.union(before.difference(named))
  const after = isPossible(policy, routeMethod, known, same)
    ? same
    : completed(policy, routeMethod, known, { set: result, named })
  return after ? [{ object: stateOf(before), ...whenOf(when), becomes: [...after].sort() }] : []
}

/** Each set of the relations that a new object can have, as far as rules about creating tell them apart. */
function* createdOf(
  policies: readonly Policy[],
  routeMethod: RouteMethod,
  known: Known,
): Generator<Situation, undefined> {
  const [policy] = policies
  const named = namedBy(policies, routeMethod)
  if (!policy || named.size === 0) return undefined
  const sets = setsOf(policy, routeMethod, named)
  const results = sets.flatMap((set) => completed(policy, routeMethod, known, { set, named }) ?? [])
  for (const when of conditionSets(policies, routeMethod)) {
    for (const result of results) yield { object: { kind: 'none' }, ...when, becomes: [...result].sort() }
  }
  return undefined
}

function isPossible(
  policy: Policy,
  { resource, route }: RouteMethod,
  known: Known,
  relations: ReadonlySet<string>,
): boolean {
  return (
    relatability(policy.ownership.get(resource.name), known, { resource, relations, own: route.kind === 'caller' }) !==
    'impossible'
  )
}
