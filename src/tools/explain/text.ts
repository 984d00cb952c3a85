/** An explanation as text, for somebody who has never seen Casbin: what is answered, why, and what is missing. */
import { CATALOGUE } from '../../base/problems/catalogue.ts'
import { printable, quote } from '../../present/quote.ts'
import { layOut, type Section, table, wrap } from '../../present/text-layout.ts'
import type { Answer, Explanation, RelationFact } from './explanation.ts'
import { caseLines, firstRefused } from './text-cases.ts'
import { fieldLines } from './text-fields.ts'
import { recordLines } from './text-record.ts'

/** More than that says little; the JSON has them all. */
const MOST_MISSES = 6

const EITHER = new Intl.ListFormat('en', { type: 'disjunction' })

export function toText(explanation: Explanation): string {
  const sections: readonly Section[] = [
    { label: explanation.outcome.toUpperCase(), lines: headline(explanation) },
    { label: 'Caller', lines: callerLines(explanation) },
    { label: 'Asks for', lines: askLines(explanation) },
    { label: 'Relation', lines: relationLines(explanation) },
    { label: 'Rules', lines: ruleLines(explanation) },
    { label: 'Cases', lines: caseLines(explanation) },
    { label: 'Fields', lines: fieldLines(explanation) },
    { label: 'Nearest', lines: missLines(explanation) },
    { label: 'Note', lines: explanation.notes.flatMap((note) => wrap(note)) },
    { label: 'Record', lines: explanation.record ? recordLines(explanation.record) : [] },
  ]
  return layOut(sections)
}

/** `403 forbidden (not permitted)` */
function answerText({ status, code, headers }: Answer): string {
  const what = code === null ? String(status) : `${status} ${code} (${CATALOGUE[code].title})`
  const sent = Object.entries(headers).map(([name, value]) => `, ${name}: ${value}`)
  return `${what}${sent.join('')}`
}

function headline({ request, answer, reason, cases }: Explanation): readonly string[] {
  const statuses = [...new Set(cases.map((one) => one.answer.status))].toSorted((a, b) => a - b)
  const client = answer ? answerText(answer) : EITHER.format(statuses.map(String))
  return [`${quote(request.method)} ${printable(request.path)}: a client gets ${client}`, ...wrap(`because ${reason}`)]
}

function callerLines({ caller }: Explanation): readonly string[] {
  if (caller.anonymous) return ['anonymous: without credentials']
  const who = caller.subject === null ? 'anybody' : quote(caller.subject)
  const roles = caller.roles.map(({ name, declared, inherits }) => {
    const what = inherits.length > 0 ? `inherits ${inherits.join(', ')}` : 'not declared'
    return declared && inherits.length === 0 ? quote(name) : `${quote(name)} (${what})`
  })
  if (roles.length === 0) return [`${who} with credentials, without roles`]
  return wrap(`${who} with the ${roles.length === 1 ? 'role' : 'roles'} ${roles.join(', ')}`)
}

function askLines({ request }: Explanation): readonly string[] {
  if (request.resource === null) return []
  const object = request.object === null ? '' : `, the object ${quote(request.object)}`
  const path = request.route === request.path ? '' : ` (the route ${request.route})`
  return [`${request.action} on ${request.resource}${object}${path}`]
}

/** What isn't known is told where it makes a difference. */
function relationLines({ relations, cases }: Explanation): readonly string[] {
  const telling = new Set(cases.flatMap((one) => one.relations))
  const told = relations.filter(({ name, holds }) => holds !== null || telling.has(name))
  return table(told.map((fact) => [fact.name, `${holdsText(fact)}: ${fact.why}`]))
}

function holdsText({ holds }: RelationFact): string {
  if (holds === null) return 'not known'
  return holds ? 'yes' : 'no'
}

function ruleLines({ stage, rules }: Explanation): readonly string[] {
  if (stage !== 'role' && stage !== 'object') return []
  if (rules.length === 0) return ['none matches; nothing is allowed unless a rule allows it']
  return table(rules.map(({ place, text }) => [place, text])).flatMap((line, i) => {
    const through = rules[i]?.through
    return through ? [line, `  ${through}`] : [line]
  })
}

function missLines(explanation: Explanation): readonly string[] {
  const { misses, outcome, stage, cases } = explanation
  if (misses.length === 0) return outcome === 'deny' && stage === 'role' ? ['no rule could allow it to anybody'] : []
  const which = cases.length > 1 ? `an object of the case \`${firstRefused(explanation)}\`` : 'it'
  const what = cases.some(({ listed }) => listed !== null) ? 'would be in the list' : 'would be allowed'
  const told = misses
    .slice(0, MOST_MISSES)
    .flatMap(({ sentence, rules }) => [
      ...wrap(sentence).map((line) => `  ${line}`),
      ...table(rules.map(({ place, text }) => [`    ${place}`, text])),
    ])
  const more = misses.length - MOST_MISSES
  return [`${which} ${what}`, ...told, ...(more > 0 ? [`  and ${more} more (--format json)`] : [])]
}
