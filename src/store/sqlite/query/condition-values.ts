/** The values that a condition's SQL binds, and its shape, which is the key of the statement. */
import { instantBounds } from '../../../base/time.ts'
import type { Between, Condition } from '../../../decide/conditions/condition.ts'
import type { Scalar } from '../../../resources/object.ts'

/** The values of `conditionSql`'s parameters, in their order. */
export function boundValues(condition: Condition): readonly (string | number | Uint8Array)[] {
  switch (condition.kind) {
    case 'always':
    case 'never':
    case 'present':
      return []
    case 'holds':
      return padded(condition.values).map(bound)
    case 'between':
      return numbersOf(condition)
    case 'time': {
      const { after, before } = instantBounds(condition)
      return [after, before].filter((one) => one !== undefined)
    }
    case 'related':
    case 'climb':
      return boundValues(condition.where)
    case 'all':
    case 'some':
      return condition.of.flatMap(boundValues)
    case 'not':
      return boundValues(condition.of)
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
    case 'present':
      return `present${JSON.stringify(condition.field)}`
    case 'between':
      return `between${JSON.stringify([condition.field, condition.atLeast !== undefined, condition.atMost !== undefined])}`
    case 'time':
      return `time${JSON.stringify([condition.field, condition.after !== undefined, condition.before !== undefined])}`
    case 'related':
      return `related${JSON.stringify([condition.field, condition.resource, condition.by])}(${conditionShape(condition.where)})`
    case 'climb':
      return `climb${JSON.stringify([condition.field, condition.resource, condition.depth])}(${conditionShape(condition.where)})`
    case 'all':
    case 'some':
      return `${condition.kind}(${condition.of.map(conditionShape).join()})`
    case 'not':
      return `not(${conditionShape(condition.of)})`
  }
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

function numbersOf({ atLeast, atMost }: Between): readonly number[] {
  return [atLeast, atMost].filter((one) => one !== undefined)
}
