/** What decisions about one caller and one resource are made from, and what is written down of them. */

import type { Json, Representation, Resource } from '../resources/resource.ts'
import type { Grant, GrantTable } from './grants/grant-table.ts'
import type { RoleLevel } from './grants/role-level.ts'
import type { Evidence, Facts } from './permit.ts'
import type { Ownership } from './policy.ts'
import { comparedFields } from './relations/relation.ts'
import type { AttributeOf } from './relations/relation-kind.ts'

/** The tables of one caller on one resource. */
export interface Ground {
  readonly resource: Resource
  readonly ownership: Ownership | undefined
  readonly attributeOf: AttributeOf
  /** The table of the action asked for. */
  readonly table: GrantTable
  /** What that table tells before an object is known. */
  readonly roleLevel: RoleLevel
  /** The table of `read`: what an answer to a write shows. */
  readonly readTable: GrantTable
  /** The fields that the route shows; undefined for all. */
  readonly view: ReadonlySet<string> | undefined
  /** The fields of an object that a decision record keeps. */
  readonly recorded: readonly string[]
  /** The largest document that a write may leave. */
  readonly objectBytes: number
}

/** Not permitted. `fieldsRefused` is empty when the action or the object is refused as a whole. */
export class Denied extends Error {
  readonly evidence: Evidence
  /** The resource conceals objects from those who may not read them, and this caller may not. */
  readonly conceal: boolean

  constructor(evidence: Evidence, conceal = false) {
    super('denied by the policy')
    this.name = 'Denied'
    this.evidence = evidence
    this.conceal = conceal
  }
}

/** Not permitted, because the request would tell the stored values of `fieldsRefused`. */
export class DeniedReading extends Denied {}

/**
 * The fields by which relations are told, and those that another policy's relations could be told by: indexed ones. Unique
 * ones (an email) name somebody, which no relation needs and no log should.
 */
export function recordedFields({ fields }: Resource, ownership: Ownership | undefined): readonly string[] {
  const compared = new Set([...(ownership?.relations.values() ?? [])].flatMap(comparedFields))
  const kept = [...fields.values()].filter(({ name, indexed, unique }) => compared.has(name) || (indexed && !unique))
  return Object.freeze(kept.map(({ name }) => name))
}

/** `evidence` on an object, or on none (`relations` is empty then). */
export function evidenceOf(relations: readonly string[], { rules }: Grant, facts: Facts): Evidence {
  return { relations, lines: rules.map((rule) => rule.line), fieldsRefused: [], facts }
}

/** The caller's attributes that the tables compare; undefined where they compare none. */
export function recordAttributes({ table, readTable, attributeOf }: Ground): Pick<Facts, 'attributes'> {
  const names = [...table.attributes, ...readTable.attributes]
  if (names.length === 0) return {}
  return { attributes: Object.fromEntries(names.map((name) => [name, attributeOf(name) ?? null])) }
}

/** What the object doesn't have is null: a record tells that from what it doesn't hold. */
export function recordObject({ recorded }: Ground, object: Representation): Readonly<Record<string, Json>> {
  return Object.fromEntries(recorded.map((name) => [name, Object.hasOwn(object, name) ? (object[name] ?? null) : null]))
}
