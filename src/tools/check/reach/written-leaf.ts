/**
 * What one leaf says by itself about the writes of an object: what holds for an object as it is made, what a climb asks
 * further up, and the attributes of the caller. The situations of a write are made of it (write-space.ts).
 */
import { comparedAttributes, kindOf, stepOf, valuesWhoeverAsks } from '../../../decide/relations/all-kinds.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'
import type { Field } from '../../../resources/resource.ts'

/** An unknown text: what accepts it accepts whatever a field has. */
export const ANYTHING = '\u0000'

/**
 * Whether a leaf holds for a new object whose creator doesn't give the field; undefined if it can hold or not. `filled`:
 * the attribute of the caller that the field has then.
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

/** What a climb asks of the objects on its way, with fewer steps left. */
export function furtherUp(leaf: Relation, most: number): readonly Relation[] {
  const { depth = 1 } = stepOf(leaf) ?? {}
  if (depth === 1 || most === 0) return []
  const [name] = leaf.name.split(' within ')
  const further = { ...leaf, name: `${name} within ${depth - 1}`, depth: depth - 1 }
  return [further, ...furtherUp(further, most - 1)]
}

/** The attributes of the caller that a users record can tell. */
export function changeableAttributes(leaf: Relation): readonly string[] {
  return comparedAttributes(leaf).filter((name) => name !== 'id')
}

/** Whether the relation holds for no caller without a value of the attribute. */
export function needsAttribute(relation: Relation, attribute: string): boolean {
  const parts = kindOf(relation).parts?.(relation)
  if (parts) return parts.of[parts.need === 'all' ? 'some' : 'every']((part) => needsAttribute(part, attribute))
  const step = stepOf(relation)
  return step ? needsAttribute(step.relation, attribute) : kindOf(relation).equates?.(relation).attribute === attribute
}
