/**
 * Sets of relations by the million: a *region* is a set of such sets, as the bits of a number. Bit S stands for the set
 * whose i-th relation holds when bit i of S is set. So rules become a few operations on numbers, however many sets
 * there are.
 */
import type { Resource } from '../../resources/resource.ts'
import { type FieldGroup, fieldGroups } from './possible-sets.ts'
import type { Relation } from './relation-kind.ts'

export type Region = bigint

/** Every set of some relations, and where each of them holds, in their order. */
export interface RelationRegions {
  readonly all: Region
  readonly holds: readonly Region[]
}

export function regionsOf(count: number): RelationRegions {
  const all = (1n << (1n << BigInt(count))) - 1n
  return { all, holds: Array.from({ length: count }, (_, i) => whereHolds(i, count)) }
}

/** The sets that can hold together, as possible-sets.ts says. */
export function possibleRegion(
  relations: readonly Relation[],
  resource: Resource,
  { all, holds }: RelationRegions,
): Region {
  const where = (relation: Relation) => holds[relations.indexOf(relation)] ?? 0n
  return fieldGroups(relations, resource).reduce(
    (region, group) =>
      region & (group.isList ? possibleOfList(group, all, where) : possibleOfScalar(group, all, where)),
    all,
  )
}

type Where = (relation: Relation) => Region

/** A field with one value: exactly the relations that accept it. */
function possibleOfScalar({ relations, byValue }: FieldGroup, all: Region, where: Where): Region {
  const exactly = (set: readonly Relation[]) =>
    relations.reduce((region, one) => region & (set.includes(one) ? where(one) : ~where(one)), all)
  return byValue.reduce((sum, set) => sum | exactly(set), 0n)
}

/** A list: what holds is due to one of its values, which makes all relations hold that accept it. */
function possibleOfList({ relations, byValue }: FieldGroup, all: Region, where: Where): Region {
  const allOf = (set: readonly Relation[]) => set.reduce((region, one) => region & where(one), all)
  return relations.reduce((region, one) => {
    const sets = byValue.filter((set) => set.includes(one))
    return region & (~where(one) | sets.reduce((sum, set) => sum | allOf(set), 0n))
  }, all)
}

/** The sets with the i-th of n relations: runs of 2^i sets without and 2^i sets with. */
function whereHolds(i: number, n: number): Region {
  const run = 1n << BigInt(i)
  let region = ((1n << run) - 1n) << run
  for (let width = run * 2n; width < 1n << BigInt(n); width *= 2n) region |= region << width
  return region
}
