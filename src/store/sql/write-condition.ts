/** A simplified condition as an expression about one row: what all engines write alike. */
import type { Between, Climb, Condition, Holds, Present, Related, Time } from '../../decide/conditions/condition.ts'

/** Writes the kinds that look at fields or at other objects. */
export interface ConditionKinds<Scope> {
  readonly holds: (condition: Holds, scope: Scope) => string
  readonly present: (condition: Present, scope: Scope) => string
  readonly between: (condition: Between, scope: Scope) => string
  readonly time: (condition: Time, scope: Scope) => string
  readonly related: (condition: Related, scope: Scope) => string
  readonly climb: (condition: Climb, scope: Scope) => string
}

export function writeCondition<Scope>(condition: Condition, scope: Scope, kinds: ConditionKinds<Scope>): string {
  const joined = (parts: readonly Condition[], operator: string) =>
    `(${parts.map((part) => writeCondition(part, scope, kinds)).join(operator)})`
  switch (condition.kind) {
    case 'always':
      return 'true'
    case 'never':
      return 'false'
    case 'holds':
      return kinds.holds(condition, scope)
    case 'present':
      return kinds.present(condition, scope)
    case 'between':
      return kinds.between(condition, scope)
    case 'time':
      return kinds.time(condition, scope)
    case 'related':
      return kinds.related(condition, scope)
    case 'climb':
      return kinds.climb(condition, scope)
    case 'all':
      return joined(condition.of, ' and ')
    case 'some':
      return joined(condition.of, ' or ')
    case 'not':
      // `not x` would be NULL if x is NULL, which would exclude objects without the field.
      return `((${writeCondition(condition.of, scope, kinds)}) is not true)`
  }
}
