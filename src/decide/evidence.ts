/** The evidence of a decision, for the decision record. */
import { hash } from 'node:crypto'
import type { Scalar } from '../resources/object.ts'
import type { Json, Representation, Resource } from '../resources/resource.ts'
import type { Condition } from './conditions/condition.ts'
import type { Grant } from './grants/grant.ts'
import type { Ownership } from './policy.ts'
import { comparedFields, meaningOf } from './relations/all-kinds.ts'
import type { CallerValues, Relation } from './relations/relation-kind.ts'
import { meaningOfCondition, type RequestCondition } from './request-conditions/all-conditions.ts'
import type { RequestConditions } from './request-conditions/conditions-now.ts'

type ValuesByField = Readonly<Record<string, Json>>
type HeldByName = Readonly<Record<string, boolean>>

/**
 * The values that a decision looked at, so that it can be made again without the store. A field that an object lacks is
 * null.
 */
export interface Facts {
  /** The caller's attributes that rules compare, or that a new object gets. */
  readonly attributes?: ValuesByField
  /** For each condition of the request that a rule names, whether it held. */
  readonly conditions?: HeldByName
  /** For each relation that rests on other objects and that a rule names, whether it held for the object. */
  readonly related?: HeldByName
  /** The same for the object after the write. */
  readonly relatedAfter?: HeldByName
  /** For each of these conditions and relations, its definition as a short hash. */
  readonly definitions?: Readonly<Record<string, string>>
  /** The stored object's fields that relations compare, and its indexed fields. */
  readonly object?: ValuesByField
  /** The same fields of the object after the write. */
  readonly proposed?: ValuesByField
  /** Fields that the write would change. */
  readonly changed?: readonly string[]
  /** Fields that the body names, and those that a PUT would remove unread. */
  readonly named?: readonly string[]
  /** Fields of the server whose values the request chooses: `id`, in an import that keeps ids. */
  readonly chosen?: readonly string[]
  /** Fields that a patch reads. */
  readonly read?: readonly string[]
  /** Fields that a PUT would remove if they are stored: those that it doesn't name and that the caller may write. */
  readonly removed?: readonly string[]
  /** Fields that a list is filtered and sorted by. */
  readonly queried?: readonly string[]
  /** Fields that the client selects for the rows of a list. */
  readonly selected?: readonly string[]
  /** Fields that every row of a list shows. */
  readonly everywhere?: readonly string[]
  /** The condition on the objects of a list. */
  readonly where?: Condition
  /** Fields that a read shows; for a list, those that at least one row may show. */
  readonly shown?: readonly string[]
}

export interface Evidence {
  /** The relations between the caller and the object, if the decision is about one. */
  readonly relations: readonly string[]
  /** Lines of policy.csv that matched. */
  readonly lines: readonly number[]
  readonly fieldsRefused: readonly string[]
  readonly facts: Facts
}

/** The name of a line of policy.csv in decision records. */
export function rulePlace(line: number): string {
  return `policy.csv:${line}`
}

/** The evidence of a decision about an object, or without an object (then `relations` is empty). */
export function evidenceOf(relations: readonly string[], { lines }: Pick<Grant, 'lines'>, facts: Facts): Evidence {
  return { relations, lines, fieldsRefused: [], facts }
}

/**
 * The fields that relations compare, and the indexed fields, which the relations of another policy could compare.
 * Unique fields are left out: they identify a person (an email, for example), which no relation needs and no log should
 * contain.
 */
export function recordedFields({ fields }: Resource, ownership: Ownership | undefined): readonly string[] {
  const compared = new Set([...(ownership?.relations.values() ?? [])].flatMap(comparedFields))
  const kept = [...fields.values()].filter(({ name, indexed, unique }) => compared.has(name) || (indexed && !unique))
  return Object.freeze(kept.map(({ name }) => name))
}

export function recordAttributes(names: readonly string[], valuesOf: CallerValues): Pick<Facts, 'attributes'> {
  if (names.length === 0) return {}
  return { attributes: Object.fromEntries(names.map((name) => [name, recorded(valuesOf(name))])) }
}

/** One value as itself, several as a list, none as null. */
function recorded(values: readonly Scalar[]): Json {
  return values.length > 1 ? [...values] : (values[0] ?? null)
}

/** The conditions and relations that no field of the object answers. */
export function askedFacts(
  { named, holding }: RequestConditions,
  related: readonly HeldRelation[],
): Pick<Facts, 'conditions' | 'related' | 'definitions'> {
  if (named.length + related.length === 0) return {}
  const conditions = named.map((one) => [one, holding.includes(one.name)] as const)
  const definitions = [
    ...named.map((one) => [one.name, definitionOfCondition(one)]),
    ...related.map(([one]) => [one.name, definitionOfRelation(one)]),
  ]
  return {
    ...(named.length > 0 ? { conditions: heldBy(conditions) } : {}),
    ...(related.length > 0 ? { related: heldBy(related) } : {}),
    definitions: Object.fromEntries(definitions),
  }
}

type HeldRelation = readonly [relation: Relation, holds: boolean]

export function heldBy(answers: readonly (readonly [{ readonly name: string }, boolean])[]): HeldByName {
  return Object.fromEntries(answers.map(([{ name }, holds]) => [name, holds]))
}

/**
 * A short hash of a relation's definition, with the definitions of all relations that it rests on, and without its name.
 * A recorded answer counts under another policy that has the same definition.
 */
export function definitionOfRelation(relation: Relation): string {
  return DEFINITIONS.getOrInsertComputed(relation, () => shortHash(meaningOf(relation)))
}

/** The same for a condition of the request. */
export function definitionOfCondition(condition: RequestCondition): string {
  return DEFINITIONS.getOrInsertComputed(condition, () => shortHash(meaningOfCondition(condition)))
}

/** Kept, since records of most requests need them. */
const DEFINITIONS = new WeakMap<Relation | RequestCondition, string>()

function shortHash(text: string): string {
  return hash('sha256', text).slice(0, 12)
}

/** A field that the object lacks is null, so that a record distinguishes it from a field that isn't recorded. */
export function recordObject(recorded: readonly string[], object: Representation): ValuesByField {
  const values: Record<string, Json> = {}
  for (const name of recorded) values[name] = Object.hasOwn(object, name) ? (object[name] ?? null) : null
  return values
}
