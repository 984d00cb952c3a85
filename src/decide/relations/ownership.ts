/** The ownership resolver: how a caller relates to an object, as a condition for SQL and as an answer for one object. */

import type { Scalar } from '../../resources/object.ts'
import type { Field, Representation, Resource } from '../../resources/resource.ts'
import type { Condition } from '../condition.ts'
import { has } from '../condition.ts'
import type { Ownership, Relation } from '../policy.ts'

/** The caller's side of a comparison: `id`, or an attribute; undefined when the caller has none. */
export type AttributeOf = (attribute: string) => Scalar | undefined

/** When a relation holds, for SQL and for one object alike. */
export function conditionOf(relation: Relation, attributeOf: AttributeOf): Condition {
  if (relation.kind === 'state') return { kind: 'holds', field: relation.field, values: relation.values }
  const value = attributeOf(relation.attribute)
  return value === undefined ? { kind: 'never' } : { kind: 'holds', field: relation.field, values: [value] }
}

/** `rel(C, o)` of semantics.md: the names of the relations that hold, in the order of ownership.yaml. */
export function relationsOf(
  ownership: Ownership | undefined,
  attributeOf: AttributeOf,
  object: Representation,
): readonly string[] {
  return relate(ownership, attributeOf, { caller: object, state: object })
}

/** The same with the caller relations taken from the proposed object and the state relations from the stored one. */
export function relationsOfProposal(
  ownership: Ownership | undefined,
  attributeOf: AttributeOf,
  { stored, proposed }: { readonly stored: Representation; readonly proposed: Representation },
): readonly string[] {
  return relate(ownership, attributeOf, { caller: proposed, state: stored })
}

function relate(
  ownership: Ownership | undefined,
  attributeOf: AttributeOf,
  objects: Readonly<Record<Relation['kind'], Representation>>,
): readonly string[] {
  if (!ownership) return []
  const holding: string[] = []
  for (const relation of ownership.relations.values()) {
    if (holds(relation, attributeOf, objects[relation.kind])) holding.push(relation.name)
  }
  return holding
}

/** As conditionOf has it, for one object. */
function holds(relation: Relation, attributeOf: AttributeOf, object: Representation): boolean {
  if (relation.kind === 'state') return relation.values.some((value) => has(object, relation.field, value))
  const value = attributeOf(relation.attribute)
  return value !== undefined && has(object, relation.field, value)
}

/**
 * The field of the relation `owner`, where it is the caller's id and clients may write it; a new object gets it from
 * its creator.
 */
export function ownerFieldOf({ fields }: Resource, ownership: Ownership | undefined): Field | undefined {
  const relation = ownership?.relations.get('owner')
  const field = relation?.kind === 'caller' && relation.attribute === 'id' ? fields.get(relation.field) : undefined
  return field?.readOnly ? undefined : field
}
