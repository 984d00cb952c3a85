/** What becomes of an explained request when a rule or a block ends. */

import { timeText } from '../../base/time.ts'
import { coversResource } from '../../decide/grants/evaluate.ts'
import { endsOf } from '../../decide/rules/ends.ts'
import { subjectsOf } from './caller.ts'
import type { Finding } from './finding.ts'
import { placeOf } from './place.ts'
import type { Question } from './question.ts'

/** One sentence about the first moment at which the answer is another one; none when it stays. `find` answers a question. */
export function tellLater(question: Question, now: Finding, find: (later: Question) => Finding): readonly string[] {
  const same = meaningOf(now)
  for (const end of endsAfter(question)) {
    const later = find({ ...question, now: end })
    if (meaningOf(later) === same) continue
    const ending = [...linesEnding(question, end), ...blockEnding(question, end)].join(', ')
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

/** In order, of what may be about the request. */
function endsAfter(question: Question): readonly number[] {
  const block = blockOf(question)
  return endsOf([...rulesAbout(question), ...(block?.until === undefined ? [] : [{ until: block.until }])]).filter(
    (end) => end > question.now,
  )
}

function linesEnding(question: Question, end: number): readonly string[] {
  return rulesAbout(question)
    .filter(({ until }) => until === end)
    .map(placeOf)
}

function blockEnding(question: Question, end: number): readonly string[] {
  return blockOf(question)?.until === end ? ['the block'] : []
}

function blockOf({ asker, reviewed }: Question) {
  return asker.kind === 'caller' && asker.subject !== undefined ? reviewed.blocked.get(asker.subject) : undefined
}

function rulesAbout({ asked, asker, reviewed, resources }: Question) {
  const resource = asked.kind === 'route' ? resources.byName.get(asked.route.resource) : undefined
  const subjects = subjectsOf(reviewed.policy, asker)
  return reviewed.policy.rules.filter(
    (rule) => resource && subjects.has(rule.subject) && coversResource(rule, resource),
  )
}
