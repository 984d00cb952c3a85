/** The objects that a caller may list, as one condition: exactly those on which the table's rules allow the action. */

import type { Condition } from '../condition.ts'
import type { Ownership, Rule, Views } from '../policy.ts'
import { conditionOf } from '../relations/ownership.ts'
import type { AttributeOf } from '../relations/relation-kind.ts'
import { ruleNames } from '../rules/rule.ts'
import { simplify } from '../simplify-condition.ts'

interface Rules {
  readonly rules: readonly Rule[]
  readonly views: Views | undefined
  readonly ownership: Ownership | undefined
}

/** `classes`: fields that no view distinguishes. */
export function filterOf(table: Rules, classes: readonly (readonly string[])[], attributeOf: AttributeOf): Condition {
  const granted = classes.map(([field = '*']): Condition => {
    const naming = table.rules.filter((rule) => ruleNames(table.views, rule, field))
    const when = (effect: Rule['effect']): Condition => ({
      kind: 'some',
      of: naming.filter((rule) => rule.effect === effect).map((rule) => holds(table, rule, attributeOf)),
    })
    return { kind: 'all', of: [when('allow'), { kind: 'not', of: when('deny') }] }
  })
  return simplify({ kind: 'some', of: granted })
}

function holds({ ownership }: Rules, { relations }: Rule, attributeOf: AttributeOf): Condition {
  const of = relations.map((name): Condition => {
    const relation = ownership?.relations.get(name)
    return relation ? conditionOf(relation, attributeOf) : { kind: 'never' }
  })
  return { kind: 'all', of }
}
