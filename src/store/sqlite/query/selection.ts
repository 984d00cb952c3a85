/** What a list selects, and the marks of its rows, simplified: with the values that their SQL binds, and their shapes. */
import type { SQLInputValue } from 'node:sqlite'
import type { Condition } from '../../../decide/conditions/condition.ts'
import { simplify } from '../../../decide/conditions/simplify-condition.ts'
import type { Comparison } from '../../contract.ts'
import { simplifySelection } from '../../lists/simplify-selection.ts'
import { looksUp } from '../../sql/find-leaders.ts'
import { boundValues, conditionShape } from './condition-values.ts'
import { filterShape, filterValues } from './filter.ts'
import { leadersOf } from './leading.ts'
import type { Scope } from './scope.ts'

export interface Selected {
  readonly condition: Condition
  readonly filter: readonly Comparison[]
  readonly shape: string
  readonly values: readonly SQLInputValue[]
  /** The parts that can find the objects by related ones. */
  readonly leaders: readonly Condition[]
}

export interface Marks {
  readonly conditions: readonly Condition[]
  readonly shape: string
  readonly values: readonly SQLInputValue[]
}

const NO_MARKS: Marks = { conditions: [], shape: '', values: [] }

export function marksOf(marks: readonly Condition[] = []): Marks {
  if (marks.length === 0) return NO_MARKS
  const conditions = marks.map(simplify)
  return { conditions, shape: conditions.map(conditionShape).join(), values: conditions.flatMap(boundValues) }
}

export function selectionOf(where: Condition, filter: readonly Comparison[], scope: Scope): Selected {
  const { condition, rest } = simplifySelection(where, filter)
  return {
    condition,
    filter: rest,
    shape: conditionShape(condition) + filterShape(rest),
    values: [...boundValues(condition), ...filterValues(rest)],
    leaders: looksUp(condition) ? leadersOf(condition, scope) : [],
  }
}
