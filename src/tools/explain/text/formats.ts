/** An explanation as text, for readers who don't know Casbin, and as JSON. */
import { CATALOGUE } from '../../../base/problems/catalogue.ts'
import { printable, quote } from '../../../present/quote.ts'
import { formatsOf } from '../../../present/report.ts'
import { layOut, type Section, table, wrap } from '../../../present/text.ts'
import type {
  ConditionFact,
  ExplainedAnswer,
  ExplainedCase,
  Explanation,
  FieldReport,
  RecordComparison,
} from '../explanation.ts'

export const EXPLAIN_FORMATS = formatsOf((explanation: Explanation) => ({
  text: () => [layOut(sectionsOf(explanation))],
  json: () => explanation,
}))

/** The limit in text; the JSON has all misses. */
const MOST_MISSES = 6

/** Made where it is needed, because it is slow to make. */
const either = (words: readonly string[]) => new Intl.ListFormat('en', { type: 'disjunction' }).format(words)

/** The answer, the reasons, and the missing changes. */
function sectionsOf(explanation: Explanation): readonly Section[] {
  return [
    { label: explanation.outcome.toUpperCase(), lines: headline(explanation) },
    { label: 'Caller', lines: callerLines(explanation) },
    { label: 'Asks for', lines: askLines(explanation) },
    { label: 'Relation', lines: relationLines(explanation) },
    { label: 'After', lines: afterLines(explanation) },
    { label: 'Condition', lines: conditionLines(explanation) },
    { label: 'Rules', lines: ruleLines(explanation) },
    { label: 'Cases', lines: caseLines(explanation) },
    { label: 'Fields', lines: fieldLines(explanation) },
    { label: 'Nearest', lines: missLines(explanation) },
    { label: 'Note', lines: explanation.notes.flatMap((note) => wrap(note)) },
    { label: 'Record', lines: explanation.record ? recordLines(explanation.record) : [] },
  ]
}

/** `403 forbidden (not permitted)` */
function answerText({ status, code, headers }: ExplainedAnswer): string {
  const what = code === null ? String(status) : `${status} ${code} (${CATALOGUE[code].title})`
  const sent = Object.entries(headers).map(([name, value]) => `, ${name}: ${value}`)
  return `${what}${sent.join('')}`
}

function headline({ request, answer, reason, cases }: Explanation): readonly string[] {
  const statuses = [...new Set(cases.map((one) => one.answer.status))].toSorted((a, b) => a - b)
  const client = answer ? answerText(answer) : either(statuses.map(String))
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
  const change = request.becomes === undefined ? '' : `, ${printable(request.becomes)}`
  return [`${request.action} on ${request.resource}${object}${path}${change}`]
}

/** Shows an unknown relation only if it makes a difference. */
function relationLines({ relations, cases }: Explanation): readonly string[] {
  const deciding = new Set(cases.flatMap((one) => one.relations))
  const shown = relations.filter(({ name, holds }) => holds !== null || deciding.has(name))
  return table(shown.map((fact) => [fact.name, `${holdsText(fact)}: ${fact.why}`])).flatMap((line, i) => {
    const via = shown[i]?.via
    return via ? [line, `  ${via.join(' -> ')}`] : [line]
  })
}

/** The relations that the write changes. */
function afterLines({ relations }: Explanation): readonly string[] {
  const changed = relations.filter(({ holds, after = holds }) => after !== holds)
  return table(changed.map(({ name, after = null }) => [name, holdsText({ holds: after })]))
}

function conditionLines({ conditions }: Explanation): readonly string[] {
  return table(conditions.map((fact) => [fact.name, `${holdsText(fact)}: ${fact.why}`]))
}

function holdsText({ holds }: Pick<ConditionFact, 'holds'>): string {
  if (holds === null) return 'not known'
  return holds ? 'yes' : 'no'
}

function ruleLines({ stage, rules }: Explanation): readonly string[] {
  if (stage !== 'role' && stage !== 'object') return []
  if (rules.length === 0) return ['no rule matches, and nothing is allowed without a rule']
  return table(rules.map(({ place, text }) => [place, text])).flatMap((line, i) => {
    const through = rules[i]?.through
    return through ? [line, `  ${through}`] : [line]
  })
}

function caseLines(explanation: Explanation): readonly string[] {
  const { cases, missing } = explanation
  if (cases.length < 2 && missing === null) return []
  // The largest case comes first, because a reader stops at the first case that fits.
  const rows = cases.toReversed().map((one) => [caseLabel(one, explanation), outcomeText(one), one.rules.join(', ')])
  const none = missing ? [['no such object', answerWord(missing), '']] : []
  return table([...rows, ...none])
}

/** The relations and conditions of the case, without those that hold in every case: `owner+draft+office`. */
function caseLabel(one: ExplainedCase, { cases, relations, conditions }: Explanation): string {
  const certain = [...relations, ...conditions].filter(({ holds }) => holds === true).map(({ name }) => name)
  const names = [...one.relations, ...one.conditions].filter((name) => !certain.includes(name))
  if (names.length > 0) return names.join('+')
  return cases.length === 1 ? 'an object that exists' : 'otherwise'
}

/** The case that the misses are about. */
function firstRefused(explanation: Explanation): string {
  const refused = explanation.cases.find(({ outcome }) => outcome === 'deny')
  return refused ? caseLabel(refused, explanation) : ''
}

function outcomeText({ listed, answer }: ExplainedCase): string {
  if (listed !== null) return listed ? 'in the list' : 'not in the list'
  return answerWord(answer)
}

function answerWord({ status, code }: ExplainedAnswer): string {
  return code === null ? String(status) : `${status} ${code}`
}

/** One report if all cases agree, otherwise one for each case. */
function fieldLines(explanation: Explanation): readonly string[] {
  const reports = Map.groupBy(
    explanation.cases.toReversed().filter(({ fields }) => fields !== null),
    ({ fields }) => JSON.stringify(fields),
  )
  const label = (some: readonly ExplainedCase[]) => some.map((one) => caseLabel(one, explanation)).join('; ')
  const refusal = explanation.caller.anonymous ? 401 : 403
  return [...reports.values()].flatMap((some) => {
    const fields = some[0]?.fields
    if (!fields) return []
    return reports.size === 1
      ? reportLines(fields, refusal)
      : [`${label(some)}:`, ...reportLines(fields, refusal).map((line) => `  ${line}`)]
  })
}

function reportLines(fields: FieldReport, refusal: number): readonly string[] {
  const { shown, notShown, cut, writable, notWritable, server, queryable } = fields
  const lines = [
    ...(writable ? [fieldLine('may be written', writable, notWritable)] : []),
    fieldLine('set by the server', server),
    fieldLine(`refused in a body (${refusal})`, notWritable),
    fieldLine(writable ? 'the answer shows' : 'shown', shown, [...notShown, ...cut], 'nothing'),
    fieldLine(writable ? 'the answer does not show' : 'not shown', notShown),
    fieldLine('granted, but not shown by this path', cut),
    ...(queryable ? [fieldLine('may be filtered and sorted by', queryable, undefined, 'nothing')] : []),
  ]
  return lines.flatMap((text) => (text === undefined ? [] : wrap(text)))
}

/** Omits the line if there are no fields, unless `none` is given; writes `all fields` if all fields are listed. */
function fieldLine(
  label: string,
  names: readonly string[],
  others?: readonly string[],
  none?: string,
): string | undefined {
  if (names.length === 0) return none === undefined ? undefined : `${label}: ${none}`
  return `${label}: ${others?.length === 0 ? 'all fields' : names.join(', ')}`
}

function missLines(explanation: Explanation): readonly string[] {
  const { misses, outcome, stage, cases } = explanation
  if (misses.length === 0) return outcome === 'deny' && stage === 'role' ? ['no rule could allow it to anybody'] : []
  const which = cases.length > 1 ? `an object of the case \`${firstRefused(explanation)}\`` : 'it'
  const what = cases.some(({ listed }) => listed !== null) ? 'would be in the list' : 'would be allowed'
  const lines = misses
    .slice(0, MOST_MISSES)
    .flatMap(({ sentence, rules }) => [
      ...wrap(sentence).map((line) => `  ${line}`),
      ...table(rules.map(({ place, text }) => [`    ${place}`, text])),
    ])
  const more = misses.length - MOST_MISSES
  return [`${which} ${what}`, ...lines, ...(more > 0 ? [`  and ${more} more (--format json)`] : [])]
}

function recordLines(record: RecordComparison): readonly string[] {
  const { requestId, status, problem, revision, sameRevision, rules, sameRules, breakGlass, verdict } = record
  const request = requestId === null ? '' : `request ${quote(requestId)}: `
  const answer = problem === null ? `allowed with ${status}` : `${status} ${quote(problem)}`
  const files = sameRevision ? 'the policy explained here' : 'not the policy explained here'
  return [
    `${request}${answer}, under revision ${quote(revision)} (${files})`,
    ...(sameRules ? [] : wrap(`the record names other rules: ${rules.map(quote).join(', ') || 'none'}`)),
    ...(breakGlass === undefined ? [] : [`the caller had a role by break-glass ${breakGlass}`]),
    ...wrap(verdict),
  ]
}
