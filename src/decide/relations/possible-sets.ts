/**
 * The sets of relations that can hold together between a caller and an object: one by one here, as regions in
 * regions.ts. A field has one value, so relations that compare it with constants may exclude or include one another;
 * all other relations are independent. Whether the schema allows such an object is decided by tools/matrix/arrange/.
 */
import type { Action, Resource } from '../../resources/resource.ts'
import type { Policy } from '../policy.ts'
import { isAbout } from '../rules/rule.ts'
import { comparedFields, holdsForOwnRecord, type Relation, valuesWhoeverAsks } from './all-kinds.ts'

/** People don't read more sets than this. */
export const MOST_SETS = 1024

/** Relations of one field that accept the same values for every caller. */
export interface FieldGroup {
  readonly isList: boolean
  readonly relations: readonly Relation[]
  /** For each value the relations that accept it, every set once and the empty one first. */
  readonly byValue: readonly (readonly Relation[])[]
}

/** The relations of a resource that rules about this action name, in the order of ownership.yaml. */
export function namedRelations(policy: Policy, resource: Resource, action: Action): readonly Relation[] {
  const about = policy.rules.filter((rule) => isAbout(rule, { resource, action }))
  const names = new Set(about.flatMap((rule) => rule.relations))
  const declared = policy.ownership.get(resource.name)?.relations.values() ?? []
  return [...declared].filter(({ name }) => names.has(name))
}

/**
 * The sets of these relations that can hold together, smallest first, at most MOST_SETS. On the caller's own record
 * (`ownRecord`) some relations always hold.
 */
export function possibleSets(
  relations: readonly Relation[],
  resource: Resource,
  { ownRecord = false } = {},
): readonly ReadonlySet<string>[] {
  const held = ownRecord ? relations.filter(holdsForOwnRecord) : []
  const open = relations.filter((relation) => !held.includes(relation))
  const fields = [...Map.groupBy(open, (relation) => comparedFields(relation).join()).values()]
  const sets = fields.reduce<readonly (readonly Relation[])[]>(
    (some, group) => smallest(setsOf(group, resource).flatMap((more) => some.map((set) => [...set, ...more]))),
    [[]],
  )
  return sets.map((set) => new Set([...held, ...set].map(({ name }) => name)))
}

/**
 * These relations and all others that must then hold too; undefined if they can't hold together. A list can have a
 * different value for each relation.
 */
export function heldWith(
  names: ReadonlySet<string>,
  relations: readonly Relation[],
  resource: Resource,
): ReadonlySet<string> | undefined {
  const held = fieldGroups(relations, resource).map(({ isList, relations: group, byValue }) => {
    const wanted = group.filter(({ name }) => names.has(name))
    const each = isList ? wanted.map((relation) => [relation]) : [wanted]
    return each.map((some) => sharedBy(byValue.filter((set) => some.every((relation) => set.includes(relation)))))
  })
  const all = held.flat()
  return all.some((set) => set === undefined) ? undefined : names.union(new Set(all.flatMap((set) => set ?? [])))
}

/** The relations that accept the same values for every caller, by field. */
export function fieldGroups(relations: readonly Relation[], { fields }: Resource): readonly FieldGroup[] {
  const valued = relations.filter((relation) => valuesWhoeverAsks(relation))
  return [...Map.groupBy(valued, (relation) => valuesWhoeverAsks(relation)?.field ?? '')].map(([field, group]) => {
    return { isList: fields.get(field)?.list ?? false, relations: group, byValue: setsByValue(group) }
  })
}

function setsByValue(group: readonly Relation[]): FieldGroup['byValue'] {
  const accepted = group.flatMap((relation) => {
    const values = valuesWhoeverAsks(relation)
    return values ? [{ relation, values }] : []
  })
  const telling = new Set(accepted.flatMap(({ values }) => values.telling))
  const sets = [...telling].map((value) =>
    accepted.filter(({ values }) => values.accepts(value)).map(({ relation }) => relation),
  )
  return [...new Map([[], ...sets].map((set) => [set.map(({ name }) => name).join('+'), set])).values()]
}

/** The possible sets of relations that compare the same fields. */
function setsOf(relations: readonly Relation[], resource: Resource): readonly (readonly Relation[])[] {
  const groups = fieldGroups(relations, resource)
  const others = relations.filter((relation) => !groups.some((group) => group.relations.includes(relation)))
  const sets = groups.map((group) => (group.isList ? smallest(unionsOf(group)) : group.byValue))
  return [...sets, smallest(subsets(others))].reduce((some, more) =>
    smallest(some.flatMap((set) => more.map((one) => [...set, ...one]))),
  )
}

/** A list has a value for each relation of the set, and no relation outside of the set accepts one of these values. */
function unionsOf({ relations, byValue }: FieldGroup): readonly (readonly Relation[])[] {
  return subsets(relations).filter((set) =>
    set.every((relation) => byValue.some((one) => one.includes(relation) && one.every((other) => set.includes(other)))),
  )
}

/** Every set of these relations, or the smallest ones where there are too many. */
function subsets(relations: readonly Relation[]): readonly (readonly Relation[])[] {
  return relations.reduce<readonly (readonly Relation[])[]>(
    (some, one) => smallest(some.concat(some.map((set) => [...set, one]))),
    [[]],
  )
}

function smallest(sets: readonly (readonly Relation[])[]): readonly (readonly Relation[])[] {
  return sets.toSorted((a, b) => a.length - b.length).slice(0, MOST_SETS)
}

/** What all of these sets have; undefined where there is no set. */
function sharedBy([first, ...others]: readonly (readonly Relation[])[]): readonly string[] | undefined {
  return first?.filter((relation) => others.every((set) => set.includes(relation))).map(({ name }) => name)
}
