/** The ways in which a caller can relate to an object of a resource, as its fields allow them. */

import { comparedFields, type Relation, valuesWhoeverAsks } from '../../../decide/relations/relation.ts'
import type { Resource } from '../../../resources/resource.ts'

/** More rows than this for one path nobody reads. */
export const MOST_SETS = 1024

/**
 * Sets of these relations, smallest first; without those that can't hold together because one field has one value.
 * Whether an object can be so is for arrange-related.ts to say.
 */
export function relationSets(relations: readonly Relation[], resource: Resource): readonly ReadonlySet<string>[] {
  const fields = [...Map.groupBy(relations, (relation) => comparedFields(relation).join()).values()]
  const sets = fields.reduce<readonly (readonly Relation[])[]>(
    (some, group) => smallest(setsOfField(group, resource).flatMap((more) => some.map((set) => [...set, ...more]))),
    [[]],
  )
  return sets.map((set) => new Set(set.map(({ name }) => name)))
}

function setsOfField(group: readonly Relation[], { fields }: Resource): readonly (readonly Relation[])[] {
  const list = fields.get(comparedFields(group[0] as Relation)[0] ?? '')?.list ?? false
  const ofValues = group.filter((relation) => valuesWhoeverAsks(relation))
  const others = subsets(group.filter((relation) => !ofValues.includes(relation)))
  const sets = list ? subsets(ofValues) : setsOfValues(ofValues)
  return smallest(sets.flatMap((set) => others.map((more) => [...set, ...more])))
}

/** For each value those that accept it, and none for what no relation names. */
function setsOfValues(relations: readonly Relation[]): readonly (readonly Relation[])[] {
  const accepted = relations.flatMap((relation) => {
    const values = valuesWhoeverAsks(relation)
    return values ? [{ relation, values }] : []
  })
  const telling = new Set(accepted.flatMap(({ values }) => values.telling))
  const sets = [...telling].map((value) =>
    accepted.filter(({ values }) => values.accepts(value)).map(({ relation }) => relation),
  )
  return [...new Map([[], ...sets].map((set) => [set.map(({ name }) => name).join('+'), set])).values()]
}

function subsets(relations: readonly Relation[]): readonly (readonly Relation[])[] {
  return relations.reduce<readonly (readonly Relation[])[]>(
    (some, relation) => smallest(some.concat(some.map((set) => [...set, relation]))),
    [[]],
  )
}

function smallest(sets: readonly (readonly Relation[])[]): readonly (readonly Relation[])[] {
  return sets.toSorted((a, b) => a.length - b.length).slice(0, MOST_SETS)
}
