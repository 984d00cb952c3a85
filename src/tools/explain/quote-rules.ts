/** Rules as they stand in their file, with how each one comes to be about the caller. */

import { timeText } from '../../base/time.ts'
import type { Rule } from '../../decide/policy.ts'
import { printable } from '../../present/quote.ts'
import type { ReviewedPolicy } from '../load-policy.ts'
import { type Asker, explainInheritance } from './caller.ts'
import type { QuotedRule, RuleLine } from './explanation.ts'
import { placeOf } from './place.ts'

export function ruleLines(reviewed: ReviewedPolicy, asker: Asker, rules: readonly Rule[]): readonly RuleLine[] {
  return quoteRules(reviewed, rules).map((quoted, i) => ({
    ...quoted,
    effect: rules[i]?.effect ?? 'deny',
    through: explainInheritance(reviewed.policy, asker, rules[i]?.subject ?? '') ?? null,
    until: untilOf(rules[i]),
  }))
}

function untilOf(rule: Rule | undefined): string | null {
  return rule?.until === undefined ? null : timeText(rule.until)
}

export function quoteRules({ files }: ReviewedPolicy, rules: readonly Rule[]): readonly QuotedRule[] {
  const texts = files['policy.csv'].text.split(/\r?\n/)
  return rules.map((rule) => ({
    place: placeOf(rule),
    text: printable((texts[rule.line - 1] ?? '').trim().replaceAll(/[ \t]+/g, ' ')),
  }))
}
