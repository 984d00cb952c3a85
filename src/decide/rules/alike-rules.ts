/** Rules that say the same about different subjects: whatever is found about one of them is true of all. */
import type { Rule } from '../policy.ts'
import { relationColumnText } from './terms.ts'

export interface AlikeRules {
  /** Different for each of them. */
  readonly id: number
  /** Their relation column. */
  readonly column: string
  readonly rules: readonly Rule[]
}

/** For each rule those that differ from it only by their subject, line and end; itself among them. */
export function alikeRules(rules: readonly Rule[]): ReadonlyMap<Rule, AlikeRules> {
  const groups = [...Map.groupBy(rules, textOf).values()].map((some, id) => {
    return { id, column: some[0] ? relationColumnText(some[0]) : 'any', rules: some }
  })
  return new Map(groups.flatMap((alike) => alike.rules.map((rule) => [rule, alike] as const)))
}

function textOf(rule: Rule): string {
  return [rule.effect, rule.resource, rule.actions.join('|'), relationColumnText(rule), rule.views.join('|')].join(' ')
}
