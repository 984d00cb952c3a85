/** The ownership resolver: how a caller relates to an object, and which fields a new object gets from its creator. */
import { isDeepStrictEqual } from 'node:util'
import type { Scalar } from '../../resources/object.ts'
import type { Field, Representation, Resource } from '../../resources/resource.ts'
import { type Climb, lookupOf, meets, type Related } from '../conditions/condition.ts'
import type { FactNeed, Steps } from '../facts.ts'
import type { GrowingReadSet } from '../permits/permit.ts'
import type { Ownership } from '../policy.ts'
import type { ResultNames } from '../rules/terms.ts'
import { followsFrom, kindOf, leavesOf, stepOf } from './all-kinds.ts'
import type { CallerAndTime, CallerValues, Relation } from './relation-kind.ts'

/** What relations are asked about. */
export interface Relating {
  readonly ownership: Ownership | undefined
  readonly asking: CallerAndTime
  /** The relations that rest on other objects and that rules name; others aren't looked up. */
  readonly steps: readonly Relation[]
  /** Collects what was looked up. */
  readonly reads?: GrowingReadSet | undefined
}

/** How the caller relates to one object. */
export interface RelatedObject {
  readonly object: Representation
  /** `rel(C, o)` of semantics.md: the names of the relations that hold, in the order of ownership.yaml. */
  readonly names: readonly string[]
  /** Whether each relation without parts holds. */
  readonly leaves: ReadonlyMap<Relation, boolean>
}

/** The relations that hold for an object as it is stored, or, for a create, as it would be. */
export function* relate(
  relating: Relating,
  object: Representation,
  known?: RelatedObject,
): Steps<RelatedObject, FactNeed> {
  const { asking } = relating
  const relevant = relevantTo(relating)
  const leaves = new Map<Relation, boolean>()
  for (const leaf of relevant.leaves) {
    const condition = kindOf(leaf).condition(leaf, asking)
    const isStep = condition.kind === 'related' || condition.kind === 'climb'
    leaves.set(leaf, isStep ? yield* stepHolds(relating, leaf, condition, object, known) : meets(condition, object))
  }
  return { object, names: namesOf(relevant, (leaf) => leaves.get(leaf) ?? false), leaves }
}

/** The names that hold for the result of a write; `before` is of the stored object. */
export function* relateResult(
  relating: Relating,
  before: RelatedObject,
  proposed: Representation,
): Steps<{ readonly after: RelatedObject; readonly names: ResultNames }, FactNeed> {
  const after = yield* relate(relating, proposed, before)
  const mixed = namesOf(relevantTo(relating), (leaf) => {
    const { leaves } = kindOf(leaf).onResultOfWrite === 'stored' ? before : after
    return leaves.get(leaf) ?? false
  })
  return { after, names: { stored: before.names, mixed, proposed: after.names } }
}

/** The relations that look at the object alone, for objects in memory. */
export function relationsOf(
  ownership: Ownership | undefined,
  asking: CallerAndTime,
  object: Representation,
): readonly string[] {
  const relevant = relevantTo({ ownership, asking, steps: NO_STEPS })
  return namesOf(relevant, (leaf) => meets(kindOf(leaf).condition(leaf, asking), object))
}

const NO_STEPS: readonly Relation[] = []

/** Relations, and all those without parts that they consist of. */
interface Relevant {
  readonly relations: readonly Relation[]
  readonly leaves: readonly Relation[]
}

function namesOf({ relations }: Relevant, holds: (leaf: Relation) => boolean): readonly string[] {
  const names: string[] = []
  for (const relation of relations) if (followsFrom(relation, holds)) names.push(relation.name)
  return names
}

/** Relations that look at the object alone, and those whose every step is asked for. */
function relevantTo({ ownership, steps }: Relating): Relevant {
  if (!ownership) return NOTHING
  const { all, withSteps } = SPLIT.getOrInsertComputed(ownership, split)
  if (withSteps.size === 0) return all
  return withLeaves(
    all.relations.filter(
      (relation) =>
        !withSteps.has(relation) || leavesOf(relation).every((leaf) => !stepOf(leaf) || steps.includes(leaf)),
    ),
  )
}

const NOTHING: Relevant = { relations: [], leaves: [] }

function withLeaves(relations: readonly Relation[]): Relevant {
  return { relations, leaves: [...new Set(relations.flatMap(leavesOf))] }
}

interface Split {
  readonly all: Relevant
  /** Those that rest on other objects. */
  readonly withSteps: ReadonlySet<Relation>
}

/** Kept, since every decision asks. */
const SPLIT = new WeakMap<Ownership, Split>()

function split({ relations }: Ownership): Split {
  const all = withLeaves([...relations.values()])
  return { all, withSteps: new Set(all.relations.filter((relation) => leavesOf(relation).some(stepOf))) }
}

/** Whether a relation that rests on other objects holds; `known` answers where the object's fields are the same. */
function* stepHolds(
  { reads }: Relating,
  leaf: Relation,
  condition: Related | Climb,
  object: Representation,
  known: RelatedObject | undefined,
): Steps<boolean, FactNeed> {
  const before = known?.leaves.get(leaf)
  if (known && before !== undefined && hasSame(known.object, object, kindOf(leaf).fields(leaf))) return before
  const lookup = lookupOf(condition, object)
  if (!lookup) return false
  const holds = (yield { kind: 'lookup', lookup, relation: leaf }) as boolean
  reads?.lookups.push({ lookup, holds })
  return holds
}

function hasSame(one: Representation, other: Representation, fields: readonly string[]): boolean {
  return fields.every((field) => isDeepStrictEqual(one[field], other[field]))
}

/** A field that a new object gets from its creator. */
export interface FilledField {
  readonly field: Field
  readonly attribute: string
}

/** The fields that relations fill on create, where clients may write them (docs/semantics.md, "create"). */
export function filledFields({ fields }: Resource, ownership: Ownership | undefined): readonly FilledField[] {
  return [...(ownership?.relations.values() ?? [])].flatMap((relation) => {
    const { field: name = '', attribute = '', fill = false } = kindOf(relation).equates?.(relation) ?? {}
    const field = fill ? fields.get(name) : undefined
    return field && !field.readOnly ? [{ field, attribute }] : []
  })
}

const texts = new WeakMap<Ownership, string>()

/** What the relations of a resource mean and fill: the same text for the same, and for no other resource. */
export function relationsText(resource: Resource, ownership: Ownership | undefined): string {
  const textOf = (owned: Ownership | undefined) =>
    JSON.stringify([
      resource.name,
      [...(owned?.relations ?? [])].map(([name, relation]) => [name, kindOf(relation).meaning(relation)]),
      filledFields(resource, owned).map(({ field, attribute }) => [field.name, attribute]),
    ])
  return ownership ? texts.getOrInsertComputed(ownership, textOf) : textOf(undefined)
}

/**
 * The field of the relation `owner`, where it is the caller's id and clients may write it.
 */
export function ownerFieldOf(resource: Resource, ownership: Ownership | undefined): Field | undefined {
  const owner = ownership?.relations.get('owner')
  const { field } = (owner && kindOf(owner).equates?.(owner)) ?? {}
  return filledFields(resource, ownership).find((one) => one.field.name === field && one.attribute === 'id')?.field
}

/** The values that a new object gets if its body doesn't name them: the caller must have exactly one. */
export function valuesToFill(
  filled: readonly FilledField[],
  valuesOf: CallerValues,
): Readonly<Record<string, Scalar | readonly Scalar[]>> {
  return Object.fromEntries(
    filled.flatMap(({ field, attribute }) => {
      const [value, ...others] = new Set(valuesOf(attribute))
      return value === undefined || others.length > 0 ? [] : [[field.name, field.list ? [value] : value]]
    }),
  )
}
