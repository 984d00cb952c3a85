/** The sets of leaf relations that can hold together, as possible-sets.ts says, all at once. */
import type { Resource } from '../../resources/resource.ts'
import { type FieldGroup, fieldGroups } from './possible-sets.ts'
import type { Region, Regions } from './regions.ts'
import type { Relation } from './relation-kind.ts'

type Where = (relation: Relation) => Region

/** `where` says where each relation holds. */
export function possibleRegion(
  regions: Regions,
  relations: readonly Relation[],
  resource: Resource,
  where: Where,
): Region {
  const groups = fieldGroups(relations, resource)
  return regions.all(groups.map((group) => (group.isList ? possibleOfList : possibleOfScalar)(regions, group, where)))
}

/** A field with one value: exactly the relations that accept it. */
function possibleOfScalar(regions: Regions, { relations, byValue }: FieldGroup, where: Where): Region {
  const exactly = (set: readonly Relation[]) =>
    regions.all(relations.map((one) => (set.includes(one) ? where(one) : regions.not(where(one)))))
  return regions.any(byValue.map(exactly))
}

/** A list: what holds is due to one of its values, which makes all relations hold that accept it. */
function possibleOfList(regions: Regions, { relations, byValue }: FieldGroup, where: Where): Region {
  const allOf = (set: readonly Relation[]) => regions.all(set.map(where))
  return regions.all(
    relations.map((one) => {
      const sets = byValue.filter((set) => set.includes(one))
      return regions.either(regions.not(where(one)), regions.any(sets.map(allOf)))
    }),
  )
}
