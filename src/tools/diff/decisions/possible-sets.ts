/** Which sets of relations an object can have at all: its fields have one value at a time. */

import type { Relation } from '../../../decide/relations/relation.ts'
import { valuesWhoeverAsks } from '../../../decide/relations/relation.ts'
import type { Scalar } from '../../../resources/object.ts'
import type { Resource } from '../../../resources/resource.ts'
import type { Region } from './relation-space.ts'

/** Every set of some relations, and the sets where each of them holds, in their order. */
interface Sets {
  readonly all: Region
  readonly holds: readonly Region[]
}

/** The sets that an object's values allow: relations that want different constants of one field exclude one another. */
export function possibleSets(relations: readonly Relation[], resource: Resource, { holds, all }: Sets): Region {
  const ofState = relations.flatMap((relation, i): readonly Constants[] => {
    const accepted = valuesWhoeverAsks(relation)
    return accepted ? [{ field: accepted.field, values: accepted.telling, holds: holds[i] ?? 0n }] : []
  })
  return [...Map.groupBy(ofState, ({ field }) => field)].reduce((region, [field, group]) => {
    return region & (resource.fields.get(field)?.list ? possibleOfList(group, all) : possibleOfScalar(group, all))
  }, all)
}

/** A state relation: the constants that it wants, and where it holds. */
interface Constants {
  readonly field: string
  readonly values: readonly Scalar[]
  readonly holds: Region
}

/** One of the constants, or none of them. */
function possibleOfScalar(group: readonly Constants[], all: Region): Region {
  const exactly = (value?: Scalar) =>
    group.reduce((region, { values, holds }) => region & (values.some((v) => v === value) ? holds : ~holds), all)
  return group.flatMap(({ values }) => values).reduce((sum, value) => sum | exactly(value), exactly())
}

/** What holds is due to a constant, which makes all hold that want it. */
function possibleOfList(group: readonly Constants[], all: Region): Region {
  const wanting = (value: Scalar) =>
    group.reduce((region, { values, holds }) => (values.includes(value) ? region & holds : region), all)
  return group.reduce(
    (region, { values, holds }) => region & (~holds | values.reduce((sum, value) => sum | wanting(value), 0n)),
    all,
  )
}
