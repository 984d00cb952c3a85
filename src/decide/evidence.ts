/** The evidence of a decision, for the decision record. */
import type { Scalar } from '../resources/object.ts'
import type { Json, Representation, Resource } from '../resources/resource.ts'
import type { Condition } from './conditions/condition.ts'
import type { Grant } from './grants/grant.ts'
import type { GrantTable } from './grants/grant-table.ts'
import type { Ownership } from './policy.ts'
import { comparedFields } from './relations/all-kinds.ts'
import type { CallerValues } from './relations/relation-kind.ts'

type Values = Readonly<Record<string, Json>>

/**
 * The values that a decision looked at, so that it can be made again without the store. A field that an object lacks is
 * null.
 */
export interface Facts {
  /** The caller's attributes that rules compare. */
  readonly attributes?: Values
  /** For each condition of the request that a rule names, whether it held. */
  readonly conditions?: Readonly<Record<string, boolean>>
  /** For each relation that rests on other objects and that a rule names, whether it held for the object. */
  readonly related?: Readonly<Record<string, boolean>>
  /** The same for the object after the write. */
  readonly relatedAfter?: Readonly<Record<string, boolean>>
  /** The stored object's fields that relations compare, and its indexed fields. */
  readonly object?: Values
  /** The same fields of the object after the write. */
  readonly proposed?: Values
  /** Fields that the write would change. */
  readonly changed?: readonly string[]
  /** Fields that the body names, and those that a PUT would remove unread. */
  readonly named?: readonly string[]
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

/** The caller's attributes that the tables compare; empty if they compare none. */
export function recordAttributes(tables: readonly GrantTable[], valuesOf: CallerValues): Pick<Facts, 'attributes'> {
  const names = tables.flatMap(({ attributes }) => attributes)
  if (names.length === 0) return {}
  return { attributes: Object.fromEntries(names.map((name) => [name, recorded(valuesOf(name))])) }
}

/** One value as itself, several as a list, none as null. */
function recorded(values: readonly Scalar[]): Json {
  return values.length > 1 ? [...values] : (values[0] ?? null)
}

/** `named`: the conditions that rules name. */
export function conditionFacts(named: readonly string[], holding: readonly string[]): Pick<Facts, 'conditions'> {
  if (named.length === 0) return {}
  return { conditions: Object.fromEntries(named.map((name) => [name, holding.includes(name)])) }
}

/** A field that the object lacks is null, so that a record distinguishes it from a field that isn't recorded. */
export function recordObject(recorded: readonly string[], object: Representation): Values {
  return Object.fromEntries(recorded.map((name) => [name, Object.hasOwn(object, name) ? (object[name] ?? null) : null]))
}
