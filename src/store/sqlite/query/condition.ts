/**
 * A simplified condition for SQLite: the expression, the values that it binds, and its shape, which is the key of the
 * statement.
 */
import type { SQLInputValue } from 'node:sqlite'
import type { Condition } from '../../../decide/condition.ts'
import type { Scalar } from '../../../resources/object.ts'
import { comparable, jsonPath } from '../layout/schema.ts'
import { parameters, quoteName } from './text.ts'

/** Fields with a column for their comparable value. Other fields are looked up in the document. */
export type Columns = ReadonlyMap<string, string>

type Holds = Extract<Condition, { kind: 'holds' }>

export function conditionSql(condition: Condition, columns: Columns): string {
  switch (condition.kind) {
    case 'always':
      return 'true'
    case 'never':
      return 'false'
    case 'holds':
      return holdsSql(condition, columns.get(condition.field))
    case 'all':
      return joined(condition.of, columns, ' and ')
    case 'some':
      return joined(condition.of, columns, ' or ')
    case 'not':
      // `not x` would be NULL if x is NULL, which would exclude objects without the field.
      return `((${conditionSql(condition.of, columns)}) is not true)`
    default:
      throw new Error(`a list can't be filtered by \`${condition.kind}\``)
  }
}

/** The values of `conditionSql`'s parameters, in their order. */
export function boundValues(condition: Condition): readonly SQLInputValue[] {
  switch (condition.kind) {
    case 'always':
    case 'never':
      return []
    case 'holds':
      return padded(condition.values).map(bound)
    case 'all':
    case 'some':
      return condition.of.flatMap(boundValues)
    case 'not':
      return boundValues(condition.of)
    default:
      return []
  }
}

/** Conditions of one shape have the same SQL and differ only in the bound values. */
export function conditionShape(condition: Condition): string {
  switch (condition.kind) {
    case 'always':
    case 'never':
      return condition.kind
    case 'holds':
      return `${JSON.stringify(condition.field)}${padded(condition.values).length}`
    case 'all':
    case 'some':
      return `${condition.kind}(${condition.of.map(conditionShape).join()})`
    case 'not':
      return `not(${conditionShape(condition.of)})`
    default:
      return condition.kind
  }
}

function joined(parts: readonly Condition[], columns: Columns, operator: string): string {
  return `(${parts.map((part) => conditionSql(part, columns)).join(operator)})`
}

function holdsSql({ field, values }: Holds, column: string | undefined): string {
  const wanted = parameters(padded(values).length)
  if (column !== undefined) return `${quoteName(column)} in (${wanted})`
  const path = jsonPath(field)
  // json_each returns a list's elements, and a scalar as the only element; an object's members aren't the field's
  // value.
  return `(json_type(document, ${path}) <> 'object' and exists (
    select 1 from json_each(document, ${path}) as element
    where ${comparable('element.type', 'element.value')} in (${wanted})))`
}

/**
 * The values; the last one is repeated up to the next power of two, so that there are few shapes, however many values.
 */
export function padded(values: readonly Scalar[]): readonly Scalar[] {
  if (values.length === 1) return values
  const length = 2 ** Math.ceil(Math.log2(values.length))
  return Array.from({ length }, (_, index) => values[Math.min(index, values.length - 1)] as Scalar)
}

/** A value in the form of `comparable` of layout/schema.ts. */
export function bound(value: Scalar): string | number | Uint8Array {
  return typeof value === 'boolean' ? Uint8Array.of(value ? 1 : 0) : value
}
