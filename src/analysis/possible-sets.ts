/**
 * The sets of relations that can hold together between a caller and an object: one by one, and as a region. A field has
 * one value, so relations that compare it with constants may exclude or include one another; all other relations are
 * independent. Whether the schema allows such an object is decided by tools/matrix/fixture/.
 */
import { smallest, smallestSubsets } from '../base/subsets.ts'
import type { Policy } from '../decide/policy.ts'
import {
  comparedFields,
  followsFrom,
  holdsForOwnRecord,
  kindOf,
  leavesOf,
  valuesWhoeverAsks,
} from '../decide/relations/all-kinds.ts'
import type { Relation } from '../decide/relations/relation-kind.ts'
import { isAbout, namesIn, type ResultNames } from '../decide/rules/terms.ts'
import type { Scalar } from '../resources/object.ts'
import type { Action, Field, FieldType, Resource } from '../resources/resource.ts'
import type { Region, Regions } from './regions.ts'

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
  const names = namesAbout(policy, resource, action)
  const declared = policy.ownership.get(resource.name)?.relations.values() ?? []
  return [...declared].filter(({ name }) => names.has(name))
}

/** The conditions of the request that rules about this action name, in the order of conditions.yaml. */
export function namedConditions(policy: Policy, resource: Resource, action: Action): readonly string[] {
  const names = namesAbout(policy, resource, action)
  return [...policy.conditions.keys()].filter((name) => names.has(name))
}

function namesAbout(policy: Policy, resource: Resource, action: Action): ReadonlySet<string> {
  return new Set(policy.rules.filter((rule) => isAbout(rule, { resource, action })).flatMap(namesIn))
}

/**
 * The sets of these relations that can hold together, smallest first, at most MOST_SETS. On the caller's own record
 * (`ownRecord`) some relations always hold. A relation with parts follows from them.
 */
export function possibleSets(
  relations: readonly Relation[],
  resource: Resource,
  { ownRecord = false } = {},
): readonly ReadonlySet<string>[] {
  const leaves = [...new Set(relations.flatMap(leavesOf))]
  const held = ownRecord ? leaves.filter(holdsForOwnRecord) : []
  const open = leaves.filter((relation) => !held.includes(relation))
  const fields = [...Map.groupBy(open, (relation) => comparedFields(relation).join()).values()]
  const sets = fields.reduce<readonly (readonly Relation[])[]>(
    (some, group) =>
      smallest(
        setsOf(group, resource).flatMap((more) => some.map((set) => [...set, ...more])),
        MOST_SETS,
      ),
    [[]],
  )
  const names = sets.map((set) => new Set(namesWith(relations, namesOf([...held, ...set]))))
  const distinct = new Map(names.map((set) => [[...set].join('+'), set]))
  return [...distinct.values()].toSorted((a, b) => a.size - b.size)
}

/** The names of the relations that hold when exactly these leaves do, by name. */
export function namesWith(relations: readonly Relation[], leaves: ReadonlySet<string>): readonly string[] {
  return namesThat(relations, ({ name }) => leaves.has(name))
}

function namesThat(relations: readonly Relation[], holds: (leaf: Relation) => boolean): readonly string[] {
  return relations.filter((relation) => followsFrom(relation, holds)).map(({ name }) => name)
}

/** The names of leaves that hold before a write and after it. */
export interface WrittenLeaves {
  readonly before: ReadonlySet<string>
  readonly after: ReadonlySet<string>
}

/** What rules ask of the result of a write. */
export function namesOnResult(relations: readonly Relation[], { before, after }: WrittenLeaves): ResultNames {
  return {
    stored: namesWith(relations, before),
    mixed: namesThat(relations, (leaf) => (kindOf(leaf).onResultOfWrite === 'stored' ? before : after).has(leaf.name)),
    proposed: namesWith(relations, after),
  }
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
  const leaves = [...new Set(relations.flatMap(leavesOf))]
  const ways = waysToHold(relations.filter(({ name }) => names.has(name))).flatMap(
    (way) => leavesHeldWith(way, leaves, resource) ?? [],
  )
  const held = ways.map((way) => [...names.union(new Set(namesWith(relations, namesOf(way))))])
  const [first, ...others] = held
  return first && new Set(first.filter((name) => others.every((other) => other.includes(name))))
}

function namesOf(relations: Iterable<Relation>): ReadonlySet<string> {
  return new Set([...relations].map(({ name }) => name))
}

/** Sets of leaves. All these relations hold if the leaves of one set hold. */
function waysToHold(relations: readonly Relation[]): readonly (readonly Relation[])[] {
  return relations.reduce<readonly (readonly Relation[])[]>(
    (some, relation) => {
      const { need, of } = kindOf(relation).parts?.(relation) ?? {}
      const ways = !of ? [[relation]] : need === 'all' ? waysToHold(of) : of.flatMap((part) => waysToHold([part]))
      return smallest(
        some.flatMap((way) => ways.map((more) => [...new Set([...way, ...more])])),
        MOST_SETS,
      )
    },
    [[]],
  )
}

function leavesHeldWith(
  wanted: readonly Relation[],
  leaves: readonly Relation[],
  resource: Resource,
): readonly [ReadonlySet<Relation>] | undefined {
  const held = fieldGroups(leaves, resource).map(({ isList, relations: group, byValue }) => {
    const here = group.filter((relation) => wanted.includes(relation))
    const each = isList ? here.map((relation) => [relation]) : [here]
    return each.map((some) => sharedBy(byValue.filter((set) => some.every((relation) => set.includes(relation)))))
  })
  const all = held.flat()
  return all.some((set) => set === undefined) ? undefined : [new Set([...wanted, ...all.flatMap((set) => set ?? [])])]
}

/** The relations that accept the same values for every caller, by field. */
export function fieldGroups(relations: readonly Relation[], { fields }: Resource): readonly FieldGroup[] {
  const valued = relations.filter((relation) => valuesWhoeverAsks(relation))
  return [...Map.groupBy(valued, (relation) => valuesWhoeverAsks(relation)?.field ?? '')].map(([field, group]) => {
    return {
      isList: fields.get(field)?.list ?? false,
      relations: group,
      byValue: setsByValue(group, fields.get(field)?.type),
    }
  })
}

function setsByValue(group: readonly Relation[], type: FieldType | undefined): FieldGroup['byValue'] {
  const accepted = group.flatMap((relation) => {
    const values = valuesWhoeverAsks(relation)
    return values ? [{ relation, values }] : []
  })
  const isOfType = (value: Scalar) => type !== 'integer' || typeof value !== 'number' || Number.isInteger(value)
  const distinguishing = accepted.flatMap(({ values }) => values.distinguishing).filter(isOfType)
  const sets = [...new Set([...distinguishing, ...valuesBetween(distinguishing, type)])].map((value) =>
    accepted.filter(({ values }) => values.accepts(value)).map(({ relation }) => relation),
  )
  return [...new Map([[], ...sets].map((set) => [set.map(({ name }) => name).join('+'), set])).values()]
}

/**
 * Values beside those that relations name: ranges and `present` accept them too. A text is among them for every type: an
 * object may be older than its schema.
 */
function valuesBetween(distinguishing: readonly Scalar[], type: FieldType | undefined): readonly Scalar[] {
  const other = `other than ${distinguishing.join()}`
  if (type === 'boolean') return [true, false, other]
  if (type === 'string') return [other]
  const numbers = [0, ...distinguishing.filter((value) => typeof value === 'number')].toSorted((a, b) => a - b)
  const near = numbers.flatMap((value) => [value - 1, value + 1])
  const between = type === 'integer' ? [] : numbers.slice(1).map((value, i) => (value + (numbers[i] ?? value)) / 2)
  return [...near, ...between, other]
}

/** The possible sets of relations that compare the same fields. */
function setsOf(relations: readonly Relation[], resource: Resource): readonly (readonly Relation[])[] {
  const groups = fieldGroups(relations, resource)
  const others = relations.filter((relation) => !groups.some((group) => group.relations.includes(relation)))
  const sets = groups.map((group) => (group.isList ? unionsOf(group) : group.byValue))
  return [...sets, smallestSubsets(others, MOST_SETS)].reduce((some, more) =>
    smallest(
      some.flatMap((set) => more.map((one) => [...set, ...one])),
      MOST_SETS,
    ),
  )
}

/** A list has a value for each relation of the set, and no relation outside of the set accepts one of these values. */
function unionsOf({ relations, byValue }: FieldGroup): readonly (readonly Relation[])[] {
  return smallestSubsets(relations, MOST_SETS).filter((set) =>
    set.every((relation) => byValue.some((one) => one.includes(relation) && one.every((other) => set.includes(other)))),
  )
}

/** What all of these sets have; undefined where there is no set. */
function sharedBy([first, ...others]: readonly (readonly Relation[])[]): readonly Relation[] | undefined {
  return first?.filter((relation) => others.every((set) => set.includes(relation)))
}

// ---- As a region ----------------------------------------------------------------------------------------------------

type RegionOfRelation = (relation: Relation) => Region

/** `where` says where each relation holds. */
export function possibleRegion(
  regions: Regions,
  relations: readonly Relation[],
  resource: Resource,
  where: RegionOfRelation,
): Region {
  const groups = fieldGroups(relations, resource)
  return regions.all(groups.map((group) => (group.isList ? possibleOfList : possibleOfScalar)(regions, group, where)))
}

/** A field with one value: exactly the relations that accept it. */
function possibleOfScalar(regions: Regions, { relations, byValue }: FieldGroup, where: RegionOfRelation): Region {
  const exactly = (set: readonly Relation[]) =>
    regions.all(relations.map((one) => (set.includes(one) ? where(one) : regions.not(where(one)))))
  return regions.any(byValue.map(exactly))
}

/** A list: what holds is due to one of its values, which makes all relations hold that accept it. */
function possibleOfList(regions: Regions, { relations, byValue }: FieldGroup, where: RegionOfRelation): Region {
  const allOf = (set: readonly Relation[]) => regions.all(set.map(where))
  return regions.all(
    relations.map((one) => {
      const sets = byValue.filter((set) => set.includes(one))
      return regions.either(regions.not(where(one)), regions.any(sets.map(allOf)))
    }),
  )
}

/** Where a relation holds, which follows from its leaves. */
export function whereHolds(regions: Regions, relation: Relation, where: RegionOfRelation): Region {
  const parts = kindOf(relation).parts?.(relation)
  return parts ? regions[parts.need](parts.of.map((part) => whereHolds(regions, part, where))) : where(relation)
}

// ---- A new object ---------------------------------------------------------------------------------------------------

/** An unknown text: what accepts it accepts whatever a field has. */
export const ANYTHING = '\u0000'

/**
 * Whether a leaf holds for a new object whose creator doesn't give the field; undefined if it can hold or not.
 * `filled`: the attribute of the caller that the field has then.
 */
export function heldAsMade(leaf: Relation, field: Field | undefined, filled: string | undefined): boolean | undefined {
  if (!field || field.readOnly) return undefined
  const accepted = valuesWhoeverAsks(leaf)
  if (filled !== undefined) {
    const isThere = accepted?.accepts(ANYTHING) || kindOf(leaf).equates?.(leaf).attribute === 'id'
    return filled === 'id' && isThere ? true : undefined
  }
  if (field.default === undefined) return false
  return accepted && [field.default].flat().some((value) => accepted.accepts(value))
}
