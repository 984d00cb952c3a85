/** The ways in which a caller can relate to an object of a resource, as its fields allow them. */

import { has } from '../../../decide/condition.ts'
import type { Relation } from '../../../decide/policy.ts'
import type { Resource } from '../../../resources/resource.ts'

/** More rows than this for one path nobody reads. */
export const MOST_SETS = 1024

/**
 * Sets of these relations, smallest first; without those that can't hold together because one field has one value.
 * Whether an object can be so is for arrange-related.ts to say.
 */
export function relationSets(relations: readonly Relation[], resource: Resource): readonly ReadonlySet<string>[] {
  const fields = [...Map.groupBy(relations, ({ field }) => field).values()]
  const sets = fields.reduce<readonly (readonly Relation[])[]>(
    (some, group) => smallest(setsOfField(group, resource).flatMap((more) => some.map((set) => [...set, ...more]))),
    [[]],
  )
  return sets.map((set) => new Set(set.map(({ name }) => name)))
}

function setsOfField(group: readonly Relation[], { fields }: Resource): readonly (readonly Relation[])[] {
  const list = fields.get(group[0]?.field ?? '')?.list ?? false
  const states = group.filter(({ kind }) => kind === 'state')
  const ofValues = list ? subsets(states) : setsOfValues(states)
  const ofCaller = subsets(group.filter(({ kind }) => kind === 'caller'))
  return smallest(ofValues.flatMap((set) => ofCaller.map((more) => [...set, ...more])))
}

/** For each constant those that hold of it, and none for what no relation names. */
function setsOfValues(states: readonly Relation[]): readonly (readonly Relation[])[] {
  const values = [...new Set(states.flatMap((one) => (one.kind === 'state' ? one.values : [])))]
  const sets = values.map((value) =>
    states.filter((one) => one.kind === 'state' && one.values.some((other) => has({ value }, 'value', other))),
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
