/**
 * Explains why a request is allowed or refused, without a server: the kernel decides, and explain presents the reasons.
 * test/review/explain compares it with the oracle, and with the answers and records of a running server.
 */
import { FileError } from '../../base/diagnostic.ts'
import { timeText } from '../../base/time.ts'
import { type Evidence, rulePlace } from '../../decide/evidence.ts'
import type { Rule } from '../../decide/policy.ts'
import { isRefusal, type Refusal } from '../../decide/refusal.ts'
import { roleGuaranteesOf, rolesLost } from '../../decide/role-guarantees.ts'
import { endsOf } from '../../decide/rules/rule-table.ts'
import { parsePolicy } from '../../policy/parse/parse-policy.ts'
import { revisionOf } from '../../policy/policy-files.ts'
import { namesText, quote } from '../../present/quote.ts'
import { type LineEdit, withEdits } from '../line-edit.ts'
import { decideByConditions, decideObjects } from './cases.ts'
import type { ExplainedAnswer, Explanation } from './explanation.ts'
import { conditionFacts, possibleConditionSets, relationFacts, trustNotes } from './facts.ts'
import { editsOfMiss } from './miss-edits.ts'
import { nearestMisses } from './nearest-misses.ts'
import {
  allowedBy,
  conditionsAsked,
  decideOn,
  type ExplainQuestion,
  explainRoles,
  type Finding,
  type HypotheticalRequest,
  holdingExactly,
  hypotheticalRequest,
  isRedirect,
  type NearMiss,
  problem,
  reasonOf,
  refusalAnswer,
  refusedBy,
  routeAnswer,
  rulesThatMayMatch,
} from './request.ts'
import { blockPlace, quoteRules, ruleLines } from './text/quote-rules.ts'

/** Throws ToolError if the rules distinguish too many sets of relations. */
export function explain(question: ExplainQuestion): Explanation {
  const { reviewed, caller, request, path, known } = question
  const { route, method } = request.kind === 'route' ? request : { route: undefined, method: request.method }
  const now = find(question)
  const finding = { ...now, notes: [...now.notes, ...noteNextChange(question, now)] }
  return {
    at: timeText(question.now),
    revision: revisionOf(reviewed.files, reviewed.blockedFile),
    request: {
      method,
      path,
      route: route?.path ?? null,
      resource: route?.resource ?? null,
      action: request.kind === 'route' ? request.endpoint.action : null,
      object: known.id ?? null,
      ...(question.becomes ? { becomes: question.becomes.text } : {}),
    },
    caller: {
      anonymous: caller.kind === 'anonymous',
      subject: caller.kind === 'caller' ? (caller.subject ?? null) : null,
      roles: explainRoles(reviewed.policy, caller),
    },
    ...finding,
    rules: ruleLines(reviewed, caller, finding.rules),
    misses: finding.misses.map((miss, i) => ({
      ...miss,
      rules: quoteRules(reviewed, miss.rules),
      edits: i < MOST_EDITED ? provenEdits(question, miss) : [],
    })),
    record: null,
  }
}

/** Each is decided again with its lines. */
const MOST_EDITED = 5

/** None where the request wouldn't be allowed with them: a deny may name the caller too, for example. */
function provenEdits(question: ExplainQuestion, miss: NearMiss): readonly LineEdit[] {
  const edits = editsOfMiss(question, miss)
  if (edits.length === 0) return edits
  const { reviewed, resources } = question
  const source = reviewed.files['policy.csv']
  const files = { ...reviewed.files, 'policy.csv': { ...source, text: withEdits(source.text, edits) } }
  try {
    const changed = { ...reviewed, files, policy: parsePolicy(files, resources) }
    return find({ ...question, reviewed: changed }).outcome === 'allow' ? edits : []
  } catch (error) {
    if (error instanceof FileError) return []
    throw error
  }
}

function find(question: ExplainQuestion): Finding {
  const { request } = question
  if (request.kind === 'refused') return refusedBy('request', request.reason, request.answer)
  const found = decide(question, hypotheticalRequest(question, request))
  return { ...found, notes: [...found.notes, ...trustNotes(question), ...rolesWithoutEffect(question)] }
}

function decide(question: ExplainQuestion, request: HypotheticalRequest): Finding {
  const conditions = conditionFacts(question, conditionsAsked(request))
  const sets = possibleConditionSets(conditions).map((holding) => holdingExactly(request, holding))
  const decisions = sets.map((asked) => ({ asked, decision: decideOn(asked, []) }))
  const [first] = decisions
  if (!first) throw new Error('the empty set of conditions is always one of the sets')
  const { asked, decision } = first
  const refusals = decisions.filter((one) => isRefusal(one.decision))
  if (isRefusal(decision) && refusals.length === decisions.length) {
    return { ...explainRefusal(question, asked, decision), conditions }
  }
  const one = decisions.length === 1 ? asked : request
  if (decisions.some((some) => some.decision.kind === 'hypothetical')) return decideObjects(question, one, conditions)
  if (refusals.length > 0 || decision.kind !== 'route') return decideByConditions(question, request, conditions)
  const rules = rulesOf(asked, decision.evidence)
  const notes = isRedirect(asked) ? ['the request to the new path is decided again'] : []
  return { ...allowedBy('role', reasonOf(asked, rules, 'allow'), routeAnswer(asked)), conditions, rules, notes }
}

/** Every refusal that the kernel decides before it looks at an object. */
function explainRefusal(question: ExplainQuestion, request: HypotheticalRequest, refusal: Refusal): Finding {
  const { caller } = request.subject
  // A gateway without credentials hasn't proved itself.
  const isUnproved = request.route.gateway !== undefined && !caller
  const answer = isUnproved ? problem('gateway-refused') : refusalAnswer(refusal, caller ? 'caller' : 'anonymous')
  if (refusal.check === 'blocked') return explainBlock(question, request, answer)
  const held = relationFacts(question, request).filter(({ holds }) => holds === true)
  const relations = new Set(held.map(({ name }) => name))
  const misses = nearestMisses(question, request, {
    relations,
    conditions: new Set(request.holding),
    decided: new Set(),
  })
  if (refusal.check === 'own-record') {
    const what = request.route.command ? "the command writes the caller's id" : "the path shows the caller's own record"
    const reason = `${what}, so it needs credentials`
    return { ...refusedBy('own-record', reason, answer), misses }
  }
  const rules = rulesOf(request, refusal.evidence)
  const concernsObjects = request.endpoint.operation !== 'options' && !request.resource.builtIn
  const reason = `${reasonOf(request, rules, 'deny')}${concernsObjects ? ', whatever the object' : ''}`
  return { ...refusedBy('role', reason, answer), rules, misses }
}

function explainBlock(question: ExplainQuestion, request: HypotheticalRequest, answer: ExplainedAnswer): Finding {
  const { reviewed } = question
  const subject = request.subject.caller?.id ?? ''
  const place = blockPlace(reviewed, subject)
  const until = reviewed.blocked.get(subject)?.until
  const end = until === undefined ? '' : `, until ${timeText(until)}`
  const reason = `the caller is blocked (${place}${end}), so no rule is looked at`
  const otherwise = decide(question, { ...request, blocked: false })
  const note = otherwise.answer
    ? `without ${place} it would be ${otherwise.answer.status}, because ${otherwise.reason}`
    : `without ${place}, ${otherwise.reason}`
  return { ...refusedBy('block', reason, answer), notes: [note] }
}

/** The rules that the kernel names, by line. */
function rulesOf({ parsed }: HypotheticalRequest, evidence: Evidence | undefined) {
  const lines = new Set(evidence?.lines)
  return parsed.rules.filter(({ line }) => lines.has(line))
}

/** A token may claim any role; only declared ones count, and none that a guarantee keeps apart from another. */
function rolesWithoutEffect({ reviewed, caller }: ExplainQuestion): readonly string[] {
  const lost = caller.kind === 'anonymous' ? [] : rolesLost(roleGuaranteesOf(reviewed.policy).apart, caller.roles)
  const apart = `a guarantee keeps ${namesText(lost, ' and ')} apart: who claims them together has none of them`
  const undeclared = explainRoles(reviewed.policy, caller)
    .filter(({ declared }) => !declared)
    .map(({ name }) => `roles.yaml doesn't declare the role ${quote(name)}: it grants nothing`)
  return lost.length === 0 ? undeclared : [apart, ...undeclared]
}

// ---- Finds how the answer to an explained request changes when a rule or a block ends.

/** One sentence about the first moment when the answer changes; empty if it never changes. */
function noteNextChange(question: ExplainQuestion, now: Finding): readonly string[] {
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
