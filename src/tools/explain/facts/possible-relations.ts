/** The sets of relations that may hold for the object of a request, as far as it is known. */

import { MOST_SETS, possibleSets } from '../../../analysis/possible-sets.ts'
import { comparedFields, followsFrom, leavesOf } from '../../../decide/relations/all-kinds.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'
import { ToolError } from '../../load-policy.ts'
import type { RelationFact } from '../explanation.ts'
import { relationsAsked, type SupposedRequest } from '../supposed-request.ts'

/** Names of relations: those that rules name, and the others that certainly hold. */
export type NameSet = ReadonlySet<string>

/** A set of relations that may hold. */
interface PossibleRelations {
  readonly names: NameSet
  /** Those without parts, also if no rule names them. */
  readonly leaves: NameSet
}

/** Throws ToolError if there are too many. Doesn't question what is known. */
export function possibleRelations(
  request: SupposedRequest,
  facts: readonly RelationFact[],
): readonly PossibleRelations[] {
  const named = relationsAsked(request)
  const known = new Map(facts.map(({ name, holds }) => [name, holds]))
  const certain = facts.filter(({ holds }) => holds === true).map(({ name }) => name)
  const sets = leafSets(named.flatMap(leavesOf), known, request).map((leaves) => {
    const following = named.filter((relation) => holdsWith(relation, leaves, known)).map(({ name }) => name)
    return { names: new Set([...certain, ...following]), leaves }
  })
  // What a write makes of an object depends on all parts of its relations.
  const keyOf = ({ names, leaves }: PossibleRelations) => [...(request.becomes ? leaves.union(names) : names)]
  return [...new Map(sets.map((set) => [keyOf(set).toSorted().join('+'), set])).values()]
}

type Known = ReadonlyMap<string, boolean | null>

/** What is known of a relation with parts counts more than its parts. */
function holdsWith(relation: Relation, leaves: NameSet, known: Known): boolean {
  return known.get(relation.name) ?? followsFrom(relation, ({ name }) => leaves.has(name))
}

function leafSets(all: readonly Relation[], known: Known, { resource }: SupposedRequest): readonly NameSet[] {
  const leaves = [...new Set(all)]
  const open = leaves.filter(({ name }) => (known.get(name) ?? null) === null)
  const fields = new Set(open.flatMap(comparedFields))
  // A known leaf limits the others that look at the same field.
  const related = leaves.filter(
    (leaf) => open.includes(leaf) || comparedFields(leaf).some((field) => fields.has(field)),
  )
  const sets = open.length === 0 ? [new Set<string>()] : possibleSets(related, resource)
  if (sets.length >= MOST_SETS) throw tooManyCases()
  const certain = leaves.filter(({ name }) => known.get(name) === true).map(({ name }) => name)
  return sets
    .filter((set) =>
      related.every(({ name }) => open.some((leaf) => leaf.name === name) || set.has(name) === known.get(name)),
    )
    .map((set) => set.union(new Set(certain)))
}

export function tooManyCases(): ToolError {
  return new ToolError(
    'the rules distinguish too many sets of relations and conditions: name those that hold with --relation and ' +
      '--with, or an object with --object',
  )
}
