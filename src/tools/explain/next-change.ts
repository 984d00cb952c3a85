/** How the answer to an explained request changes when a rule or a block ends. */
import { timeText } from '../../base/time.ts'
import { coversResource } from '../../decide/grants/evaluate.ts'
import { endsOf } from '../../decide/rules/ends.ts'
import type { Finding } from './finding.ts'
import { type Question, subjectsOf } from './question.ts'
import { placeOf } from './quote-rules.ts'

/** One sentence about the first moment at which the answer changes; none if it never does. `find` answers a question. */
export function noteNextChange(
  question: Question,
  now: Finding,
  find: (later: Question) => Finding,
): readonly string[] {
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

/** The ends of the rules and the block that may be about the request, in order. */
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

function blockOf({ caller, reviewed }: Question) {
  return caller.kind === 'caller' && caller.subject !== undefined ? reviewed.blocked.get(caller.subject) : undefined
}

function rulesAbout({ request, caller, reviewed, resources }: Question) {
  const resource = request.kind === 'route' ? resources.byName.get(request.route.resource) : undefined
  const subjects = subjectsOf(reviewed.policy, caller)
  return reviewed.policy.rules.filter(
    (rule) => resource && subjects.has(rule.subject) && coversResource(rule, resource),
  )
}
