/**
 * The sets of relations that the rules about a caller can tell apart. Every other set is decided as the largest of these
 * that is part of it, because the same rules match.
 */
import { heldWith } from '../../decide/relations/possible-sets.ts'
import { ReviewError } from '../load-policy.ts'
import type { RelationFact } from './explanation.ts'
import { type Ground, pageRules, readAction } from './ground.ts'

/** More cases than anybody reads. */
const MOST_SETS = 64

/** Smallest first. Relations that are known to hold are in every set, those known not to hold in none. */
export function distinctSets(ground: Ground, facts: readonly RelationFact[]): readonly ReadonlySet<string>[] {
  const holding = new Set(facts.filter(({ holds }) => holds === true).map(({ name }) => name))
  const failing = new Set(facts.filter(({ holds }) => holds === false).map(({ name }) => name))
  const sets = new Map([['', holding]])
  for (const relations of namedByRules(ground)) {
    if (relations.some((name) => failing.has(name))) continue
    for (const set of [...sets.values()]) {
      const union = set.union(new Set(relations))
      sets.set([...union.difference(holding)].toSorted().join('+'), union)
    }
    if (sets.size > MOST_SETS) throw tooMany()
  }
  const order = facts.map(({ name }) => name)
  const isOfSome = isOfSomeObject(ground, { holding, failing })
  return [...sets.values()]
    .filter(isOfSome)
    .map((set) => inOrder(set, order))
    .toSorted((a, b) => a.size - b.size)
}

/**
 * Whether some object is decided by this set: the relations can hold together, and what then must hold as well brings no
 * rule more. What --relation says is taken as it is.
 */
function isOfSomeObject(
  ground: Ground,
  { holding, failing }: Readonly<Record<'holding' | 'failing', ReadonlySet<string>>>,
): (set: ReadonlySet<string>) => boolean {
  const { policy, resource } = ground
  const relations = [...(policy.ownership.get(resource.name)?.relations.values() ?? [])]
  if (!heldWith(holding, relations, resource)?.isDisjointFrom(failing)) return () => true
  const columns = namedByRules(ground)
  return (set) => {
    const held = heldWith(set, relations, resource)
    const more = columns.filter((column) => column.some((name) => !set.has(name)))
    return held?.isDisjointFrom(failing) === true && !more.some((column) => column.every((name) => held.has(name)))
  }
}

/** The relation columns of the rules that matter, each once. What `read` grants decides on what an answer shows. */
function namedByRules(ground: Ground): readonly (readonly string[])[] {
  const rules = [...pageRules(ground, ground.action), ...pageRules(ground, readAction(ground))]
  const columns = new Map(rules.map(({ relations }) => [relations.join('+'), relations]))
  return [...columns.values()]
}

function inOrder(set: ReadonlySet<string>, order: readonly string[]): ReadonlySet<string> {
  return new Set(order.filter((name) => set.has(name)))
}

function tooMany(): ReviewError {
  return new ReviewError(
    `the rules tell more than ${MOST_SETS} sets of relations apart; say which hold with --relation, or name an object with --object`,
  )
}
