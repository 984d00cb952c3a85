/** The objects that a caller may list, as one condition: exactly those on which the table's rules allow the action. */

import type { Action } from '../../resources/resource.ts'
import type { Condition } from '../conditions/condition.ts'
import { simplify } from '../conditions/simplify-condition.ts'
import type { Ownership, Rule, Views } from '../policy.ts'
import { kindOf } from '../relations/all-kinds.ts'
import type { CallerAndTime } from '../relations/relation-kind.ts'
import { byAction, ruleNames } from '../rules/terms.ts'

interface Rules {
  readonly action: Action
  readonly rules: readonly Rule[]
  readonly views: Views | undefined
  readonly ownership: Ownership | undefined
}

/** `classes`: fields that no view distinguishes. `conditions`: those that hold for the request. */
export function filterOf(
  table: Rules,
  classes: readonly (readonly string[])[],
  asking: CallerAndTime,
  conditions: readonly string[],
): Condition {
  return simplify({ kind: 'some', of: classes.map((fields) => whereGranted(table, fields, asking, conditions)) })
}

/**
 * The objects on which the table's rules grant these fields, which no view distinguishes. For a write: if it leaves the
 * object as it is, so that both sides of a rule are about the same object.
 */
export function whereGranted(
  table: Rules,
  [field = '*']: readonly string[],
  asking: CallerAndTime,
  conditions: readonly string[],
): Condition {
  const holding = ({ before, after = [] }: Rule): Condition => ({
    kind: 'all',
    of: [...before, ...after].map(({ name, negated }) => {
      const holds = holdsWhere(table, name, asking, conditions)
      return negated ? { kind: 'not', of: holds } : holds
    }),
  })
  const naming = table.rules.filter((rule) => ruleNames(table.views, rule, field))
  const when = (rules: readonly Rule[], effect: Rule['effect']): Condition => ({
    kind: 'some',
    of: rules.filter((rule) => rule.effect === effect).map(holding),
  })
  const allowed = byAction(naming, table.action).map((rules) => when(rules, 'allow'))
  return { kind: 'all', of: [...allowed, { kind: 'not', of: when(naming, 'deny') }] }
}

/** The objects for which a name of a rule holds; a condition of the request holds for all objects or for none. */
function holdsWhere(
  { ownership }: Rules,
  name: string,
  asking: CallerAndTime,
  conditions: readonly string[],
): Condition {
  const relation = ownership?.relations.get(name)
  if (relation) return kindOf(relation).condition(relation, asking)
  return { kind: conditions.includes(name) ? 'always' : 'never' }
}
