/**
 * What relations that lead to other objects say about one another: whoever is the lead of a task's project is in its
 * team, where the team of a project has its lead. Decisions take them for independent (docs/decisions/0094), and so do
 * the checks of lines without effect; the checks that tell what somebody may do don't.
 */

import { possibleRegion, whereHolds } from '../../../analysis/possible-sets.ts'
import { NOWHERE, type Region, Regions } from '../../../analysis/regions.ts'
import { comparedFields, leavesOf, stepOf } from '../../../decide/relations/all-kinds.ts'
import type { Relation, RelationStep } from '../../../decide/relations/relation-kind.ts'
import type { Resource, Resources } from '../../../resources/resource.ts'

/** Leaves of one resource that lead to the same objects. */
interface StepGroup {
  readonly resource: string
  /** The field that holds the ids: of the object itself, or of the objects that it leads to (`by`). */
  readonly field: string
  readonly holder: 'own' | 'other'
  readonly leaves: readonly StepLeaf[]
}

interface StepLeaf {
  readonly leaf: Relation
  readonly step: RelationStep
}

export function stepGroups(leaves: Iterable<Relation>): readonly StepGroup[] {
  const steps = [...leaves].flatMap((leaf) => {
    const step = stepOf(leaf)
    return step ? [{ leaf, step }] : []
  })
  return [...Map.groupBy(steps, wayOf).values()].flatMap((some) => {
    const [first] = some
    if (!first) return []
    const { resource, by } = first.step
    const isOwn = by === 'id'
    const field = isOwn ? (comparedFields(first.leaf)[0] ?? '') : by
    return [{ resource, field, holder: isOwn ? ('own' as const) : ('other' as const), leaves: some }]
  })
}

function wayOf({ leaf, step: { resource, by } }: StepLeaf): string {
  return JSON.stringify([resource, by, by === 'id' ? comparedFields(leaf) : []])
}

/** Where these leaves of a resource can hold, each by objects of its own; `where` says where each of them does. */
export function holdTogether(
  regions: Regions,
  leaves: Iterable<Relation>,
  { resource, resources }: { readonly resource: Resource; readonly resources: Resources },
  where: (leaf: Relation) => Region,
): Region {
  return regions.all(
    stepGroups(leaves).map((group) => {
      const target = resources.byName.get(group.resource)
      if (!target || group.leaves.length < 2) return regions.not(NOWHERE)
      const vectors = vectorsOf(group, { resource: target, resources })
      const isOne = group.holder === 'own' && !resource.fields.get(group.field)?.list && !group.leaves.some(climbs)
      return isOne ? byOneObject(regions, group, vectors, where) : bySome(regions, group, vectors, where)
    }),
  )
}

function climbs({ step }: StepLeaf): boolean {
  return step.depth !== undefined
}

type HeldRelations = ReadonlySet<Relation>

/** One object decides all of these relations; without it, none of them holds. */
function byOneObject(
  regions: Regions,
  { leaves }: StepGroup,
  vectors: readonly HeldRelations[],
  where: (leaf: Relation) => Region,
): Region {
  const exactly = (vector: HeldRelations) =>
    regions.all(leaves.map(({ leaf }) => (vector.has(leaf) ? where(leaf) : regions.not(where(leaf)))))
  return regions.any([new Set<Relation>(), ...vectors].map(exactly))
}

/** Each that holds is due to some object, and so do all others that hold for the same object. */
function bySome(
  regions: Regions,
  { leaves }: StepGroup,
  vectors: readonly HeldRelations[],
  where: (leaf: Relation) => Region,
): Region {
  return regions.all(
    leaves.map(({ leaf }) => {
      const due = vectors.filter((vector) => vector.has(leaf)).map((vector) => regions.all([...vector].map(where)))
      return regions.either(regions.not(where(leaf)), regions.any(due))
    }),
  )
}

/** The sets of leaves of a group that one object, at some distance, can make hold. */
function vectorsOf(
  { leaves: group }: StepGroup,
  about: { readonly resource: Resource; readonly resources: Resources },
): readonly HeldRelations[] {
  const inner = [...new Set(group.flatMap(({ step }) => leavesOf(step.relation)))]
  const regions = new Regions(about.resource.name)
  const places = new Map(inner.map((leaf, i) => [leaf, regions.where(i)]))
  const where = (leaf: Relation) => places.get(leaf) ?? NOWHERE
  const possible = regions.both(
    possibleRegion(regions, inner, about.resource, where),
    holdTogether(regions, inner, about, where),
  )
  const depths = new Set([1, ...group.flatMap(({ step }) => step.depth ?? [])])
  const holding = (relation: Relation) => whereHolds(regions, relation, where)
  return [...depths].flatMap((distance) => {
    const near = group.filter(({ step }) => (step.depth ?? 1) >= distance)
    const sets = near.reduce<readonly { readonly set: readonly Relation[]; readonly region: Region }[]>(
      (some, { leaf, step }) =>
        some.flatMap(({ set, region }) => {
          const held = holding(step.relation)
          return [
            { set, region: regions.minus(region, held) },
            { set: [...set, leaf], region: regions.both(region, held) },
          ].filter((one) => one.region !== NOWHERE)
        }),
      [{ set: [], region: possible }],
    )
    return sets.map(({ set }) => new Set(set))
  })
}
