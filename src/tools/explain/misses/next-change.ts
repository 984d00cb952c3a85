/** Finds how the answer to an explained request changes when a rule or a block ends. */
import { timeText } from '../../../base/time.ts'
import { rulePlace } from '../../../decide/evidence.ts'
import type { Rule } from '../../../decide/policy.ts'
import { endsOf } from '../../../decide/rules/rule-expiry.ts'
import type { Finding } from '../finding.ts'
import type { ExplainQuestion } from '../question.ts'
import { rulesThatMayMatch } from '../supposed-request.ts'

/**
 * One sentence about the first moment when the answer changes; empty if it never changes. `find` answers a question.
 */
export function noteNextChange(
  question: ExplainQuestion,
  now: Finding,
  find: (later: ExplainQuestion) => Finding,
): readonly string[] {
  const same = meaningOf(now)
  const { caller, reviewed, request } = question
  const block = caller.kind === 'caller' ? reviewed.blocked.get(caller.subject ?? '') : undefined
  const rules: readonly Rule[] = request.kind === 'route' ? rulesThatMayMatch(question, request) : []
  for (const end of endsOf(block ? [...rules, block] : rules).filter((one) => one > question.now)) {
    const later = find({ ...question, now: end })
    if (meaningOf(later) === same) continue
    const lines = rules.filter(({ until }) => until === end).map((rule) => rulePlace(rule.line))
    const ending = [...lines, ...(block?.until === end ? ['the block'] : [])].join(', ')
    return [`from ${timeText(end)} on, when ${ending} ends, ${answerThen(later)}`]
  }
  return []
}

function answerThen({ outcome, answer, reason }: Finding): string {
  if (outcome === 'depends' || !answer) return reason
  return `it is ${answer.status}: ${reason}`
}

function meaningOf({ outcome, answer, cases }: Finding): string {
  return JSON.stringify([outcome, answer, cases.map(({ rules, ...one }) => one)])
}
