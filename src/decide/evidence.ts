/** What a decision rests on, for the decision record. */
import type { Json, Representation, Resource } from '../resources/resource.ts'
import type { Condition } from './condition.ts'
import type { Grant } from './grants/grant.ts'
import type { GrantTable } from './grants/grant-table.ts'
import type { Ownership } from './policy.ts'
import { comparedFields } from './relations/all-kinds.ts'
import type { AttributeOf } from './relations/relation-kind.ts'

type Values = Readonly<Record<string, Json>>

/** What a decision looked at, so that it can be made again without the store. A field that an object lacks is null. */
export interface Facts {
  /** The caller's attributes that rules compare. */
  readonly attributes?: Values
  /** Of the object as it was stored: the fields that relations compare, and indexed ones. */
  readonly object?: Values
  /** The same of the object as the write would leave it. */
  readonly proposed?: Values
  /** Fields that the write would change. */
  readonly changed?: readonly string[]
  /** Fields that the body names, and those that a PUT would remove unread. */
  readonly named?: readonly string[]
  /** Fields that a patch reads. */
  readonly read?: readonly string[]
  /** Fields that a PUT would remove where they are stored: those that it doesn't name, and that the caller may write. */
  readonly removed?: readonly string[]
  /** Fields that a list is filtered and sorted by. */
  readonly queried?: readonly string[]
  /** Fields that the rows of a list are cut to. */
  readonly selected?: readonly string[]
  /** Fields that every row of a list shows. */
  readonly everywhere?: readonly string[]
  /** Which objects a list may hold. */
  readonly where?: Condition
  /** Fields that a read shows; of a list, those that some row may show. */
  readonly shown?: readonly string[]
}

export interface Evidence {
  /** The relations between the caller and the object, where there is one. */
  readonly relations: readonly string[]
  /** Lines of policy.csv that matched. */
  readonly lines: readonly number[]
  readonly fieldsRefused: readonly string[]
  readonly facts: Facts
}

/** A line of policy.csv, as decision records name it. */
export function rulePlace(line: number): string {
  return `policy.csv:${line}`
}

/** Evidence of a decision about an object, or about none (`relations` is empty then). */
export function evidenceOf(relations: readonly string[], { lines }: Pick<Grant, 'lines'>, facts: Facts): Evidence {
  return { relations, lines, fieldsRefused: [], facts }
}

/**
 * The fields by which relations are told, and those that another policy's relations could be told by: indexed ones. Unique
 * ones (an email) name somebody, which no relation needs and no log should.
 */
export function recordedFields({ fields }: Resource, ownership: Ownership | undefined): readonly string[] {
  const compared = new Set([...(ownership?.relations.values() ?? [])].flatMap(comparedFields))
  const kept = [...fields.values()].filter(({ name, indexed, unique }) => compared.has(name) || (indexed && !unique))
  return Object.freeze(kept.map(({ name }) => name))
}

/** The caller's attributes that the tables compare; empty where they compare none. */
export function recordAttributes(tables: readonly GrantTable[], attributeOf: AttributeOf): Pick<Facts, 'attributes'> {
  const names = tables.flatMap(({ attributes }) => attributes)
  if (names.length === 0) return {}
  return { attributes: Object.fromEntries(names.map((name) => [name, attributeOf(name) ?? null])) }
}

/** What the object doesn't have is null: a record tells that from what it doesn't hold. */
export function recordObject(recorded: readonly string[], object: Representation): Values {
  return Object.fromEntries(recorded.map((name) => [name, Object.hasOwn(object, name) ? (object[name] ?? null) : null]))
}
