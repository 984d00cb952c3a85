/** A condition without the comparisons that a field's declared type can't meet: a column of a table has one type. */

import type { Condition } from '../../../decide/conditions/condition.ts'
import { simplify } from '../../../decide/conditions/simplify-condition.ts'
import type { Scalar } from '../../../resources/object.ts'
import type { Field, FieldType, Resource } from '../../../resources/resource.ts'

/** Undefined for a resource or field that no schema declares. */
export type ResourceNamed = (name: string) => Resource | undefined

const NEVER: Condition = { kind: 'never' }

/** The simplest form of the condition for objects that have the declared types. */
export function fitTypes(condition: Condition, resource: Resource, named: ResourceNamed): Condition {
  return simplify(typed(condition, resource, named))
}

function typed(condition: Condition, resource: Resource, named: ResourceNamed): Condition {
  switch (condition.kind) {
    case 'holds': {
      const field = resource.fields.get(condition.field)
      return { ...condition, values: condition.values.filter((value) => canBe(field, value)) }
    }
    case 'between':
      return isOfType(resource.fields.get(condition.field), 'number', 'integer') ? condition : NEVER
    case 'time':
      return isOfType(resource.fields.get(condition.field), 'string') ? condition : NEVER
    case 'related':
    case 'climb': {
      const other = named(condition.resource)
      return other ? { ...condition, where: typed(condition.where, other, named) } : NEVER
    }
    case 'all':
    case 'some':
      return { ...condition, of: condition.of.map((part) => typed(part, resource, named)) }
    case 'not':
      return { ...condition, of: typed(condition.of, resource, named) }
    default:
      return condition
  }
}

function canBe(field: Field | undefined, value: Scalar): boolean {
  if (typeof value === 'number') return isOfType(field, 'number', 'integer')
  return isOfType(field, typeof value === 'boolean' ? 'boolean' : 'string')
}

/** A field whose type no schema tells may have any. */
function isOfType(field: Field | undefined, ...types: readonly FieldType[]): boolean {
  return field === undefined || field.type === 'other' || types.includes(field.type)
}
