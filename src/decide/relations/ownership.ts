/** The ownership resolver: how a caller relates to an object. */
import type { Field, Representation, Resource } from '../../resources/resource.ts'
import type { Condition } from '../condition.ts'
import type { Ownership } from '../policy.ts'
import { kindOf, type Relation } from './all-kinds.ts'
import type { AttributeOf } from './relation-kind.ts'

/** The condition under which a relation holds, for SQL and for one object alike. */
export function conditionOf(relation: Relation, attributeOf: AttributeOf): Condition {
  return kindOf(relation).condition(relation, attributeOf)
}

/** `rel(C, o)` of semantics.md: the names of the relations that hold, in the order of ownership.yaml. */
export function relationsOf(
  ownership: Ownership | undefined,
  attributeOf: AttributeOf,
  object: Representation,
): readonly string[] {
  return relationsOfProposal(ownership, attributeOf, { stored: object, proposed: object })
}

/**
 * The same for the result of a write: each relation looks at the proposed object or at the stored one, as its kind
 * says.
 */
export function relationsOfProposal(
  ownership: Ownership | undefined,
  attributeOf: AttributeOf,
  objects: { readonly stored: Representation; readonly proposed: Representation },
): readonly string[] {
  if (!ownership) return []
  const holding: string[] = []
  for (const relation of ownership.relations.values()) {
    const kind = kindOf(relation)
    if (kind.holds(relation, attributeOf, objects[kind.onResultOfWrite])) holding.push(relation.name)
  }
  return holding
}

/**
 * The field of the relation `owner`, where it is the caller's id and clients may write it; a new object gets it from
 * its creator.
 */
export function ownerFieldOf({ fields }: Resource, ownership: Ownership | undefined): Field | undefined {
  const relation = ownership?.relations.get('owner')
  const { field: name = '', attribute } = (relation && kindOf(relation).equates?.(relation)) ?? {}
  const field = attribute === 'id' ? fields.get(name) : undefined
  return field?.readOnly ? undefined : field
}
