/**
 * Decides what depends on more than the caller: on the object and on conditions of the request. What is known gives one
 * case; otherwise there is one for each set that the rules distinguish.
 */

import { rulePlace } from '../../decide/evidence.ts'
import type { Rule } from '../../decide/policy.ts'
import { ownerFieldOf } from '../../decide/relations/ownership.ts'
import { quote } from '../../present/quote.ts'
import { successStatus } from '../../resources/routing/success-status.ts'
import { casesOf, type KnownNames, missingCases } from './cases.ts'
import type { ConditionFact, ExplainedAnswer, ExplainedCase, ExplainedOutcome, NeededChange } from './explanation.ts'
import { relationFacts } from './facts/relation-facts.ts'
import { allowedBy, type Finding, problem, reasonOf, reasonOfField, refusedBy } from './finding.ts'
import { nearestMisses } from './misses/nearest-misses.ts'
import { decidedByCases } from './misses/open-names.ts'
import type { ExplainQuestion, KnownObject } from './question.ts'
import { roleLevelOf, type SupposedRequest } from './supposed-request.ts'

const LISTED: ExplainedAnswer = { status: successStatus('list'), code: null, headers: {} }

/** The request must have passed the role level under some of the conditions that may hold. */
export function decideObjects(
  question: ExplainQuestion,
  request: SupposedRequest,
  conditions: readonly ConditionFact[],
): Finding {
  const { known } = question
  if (known.kind === 'object' && known.object === undefined) return decideMissing(request, known.id, conditions)
  const facts = { relations: relationFacts(question, request), conditions }
  const cases = casesOf(request, facts)
  return {
    ...summaryOf(cases, request, facts, known),
    rules: rulesOf(request, known, cases),
    ...facts,
    cases,
    missing: known.kind === 'any' && namesObject(request) ? problem('object-not-found') : null,
    misses: missesOf(question, request, cases),
    notes: notesOf(request, known),
  }
}

/** The request concerns no object, and the conditions that hold aren't known. */
export function decideByConditions(
  question: ExplainQuestion,
  request: SupposedRequest,
  conditions: readonly ConditionFact[],
): Finding {
  const facts = { relations: [], conditions }
  const cases = casesOf(request, facts)
  const summary = summaryOf(cases, request, facts, NO_OBJECT)
  const told = { rules: roleLevelOf(request).rules, ...facts, cases, missing: null, notes: [] }
  return { ...summary, stage: 'role', ...told, misses: missesOf(question, request, cases) }
}

const NO_OBJECT: KnownObject = { kind: 'any', id: undefined }

function decideMissing(request: SupposedRequest, id: string, conditions: readonly ConditionFact[]): Finding {
  const why = request.route.kind === 'caller' ? 'the caller has no record' : `no object has the id ${quote(id)}`
  if (request.endpoint.operation === 'list') {
    const answered = allowedBy('object', `the list is answered, but ${why}`, LISTED)
    return { ...answered, conditions, rules: roleLevelOf(request).rules }
  }
  const cases = missingCases(request, conditions)
  const [first] = cases
  const reason = `${why}; the rules would let the caller ask`
  const missing = problem('object-not-found')
  if (cases.length < 2) return { ...refusedBy('object', reason, first?.answer ?? missing), conditions }
  const asks = `${why}; whether the rules let the caller ask depends on ${differing(cases, { relations: [], conditions })}`
  return { ...refusedBy('object', asks, missing), answer: null, conditions, cases }
}

type Summary = Pick<Finding, 'outcome' | 'stage' | 'reason' | 'answer'>

function summaryOf(
  cases: readonly ExplainedCase[],
  request: SupposedRequest,
  facts: KnownNames,
  known: KnownObject,
): Summary {
  const isAnswered = cases.every(({ listed }) => listed !== null)
  if (request.endpoint.operation === 'list' && isAnswered) return summaryOfList(cases, known)
  const answers = new Map(cases.map(({ answer }) => [JSON.stringify(answer), answer]))
  const statuses = new Set(cases.map(({ answer }) => answer.status))
  const isOne = answers.size === 1 || (statuses.size === 1 && cases.every(({ outcome }) => outcome === 'allow'))
  const answer: ExplainedAnswer | null = isOne ? (cases[0]?.answer ?? null) : null
  const outcomes = new Set(cases.map((one) => one.outcome))
  const outcome: ExplainedOutcome = outcomes.size === 1 ? (cases[0]?.outcome ?? 'deny') : 'depends'
  return { outcome, stage: 'object', reason: reasonFor(outcome, cases, request, facts), answer }
}

function reasonFor(
  outcome: ExplainedOutcome,
  cases: readonly ExplainedCase[],
  request: SupposedRequest,
  facts: KnownNames,
): string {
  if (outcome === 'depends') return `it depends on ${differing(cases, facts)}`
  if (cases.length > 1) return `${reasonOf(roleLevelOf(request).rules, outcome)}, whatever the object`
  const rules = rulesOfCases(request, cases)
  const { becomes } = request
  const ofField = outcome === 'deny' && becomes ? reasonOfField(rules, becomes.field) : undefined
  if (ofField !== undefined) return ofField
  const reason = reasonOf(rules, outcome)
  if (outcome === 'allow') return reason
  return `${reason} on an object with these relations${becomes ? ', before and after the write' : ''}`
}

/** The relations and conditions in which the cases differ. */
function differing(cases: readonly ExplainedCase[], facts: KnownNames): string {
  const certain = new Set(
    [...facts.relations, ...facts.conditions].filter(({ holds }) => holds).map(({ name }) => name),
  )
  const relations = new Set(cases.flatMap((one) => one.relations)).difference(certain)
  const conditions = new Set(cases.flatMap((one) => one.conditions)).difference(certain)
  return [
    ...(relations.size > 0 ? [`the relations of the caller to the object: ${[...relations].join(', ')}`] : []),
    ...(conditions.size > 0 ? [`conditions of the request: ${[...conditions].join(', ')}`] : []),
  ].join(', and ')
}

/** An empty list is an answer like any other. */
function summaryOfList(cases: readonly ExplainedCase[], known: KnownObject): Summary {
  if (cases.length > 1) return allowedBy('object', 'the list has the objects that the rules allow', LISTED)
  const [inList, notInList] =
    known.kind === 'any' ? ['every object is', 'no object is'] : ['such an object is', 'such an object is not']
  const reason = cases[0]?.listed ? `${inList} in the list` : `the list is answered, but ${notInList} in it`
  return allowedBy('object', reason, LISTED)
}

function rulesOfCases(request: SupposedRequest, cases: readonly ExplainedCase[]): readonly Rule[] {
  const places = new Set(cases.flatMap(({ rules }) => rules))
  return roleLevelOf(request).rules.filter((rule) => places.has(rulePlace(rule.line)))
}

/** As in decision records: for a list and for a new object, all rules that could match. */
function rulesOf(request: SupposedRequest, known: KnownObject, cases: readonly ExplainedCase[]): readonly Rule[] {
  const { operation } = request.endpoint
  const isOpen = known.kind === 'any' && (operation === 'list' || operation === 'create')
  return isOpen || cases.length > 1 ? roleLevelOf(request).rules : rulesOfCases(request, cases)
}

/**
 * The misses of the first refused case. Several cases already show the effect of relations and conditions, so their
 * misses omit it, and don't offer a part of it beside the denies of another case.
 */
function missesOf(question: ExplainQuestion, request: SupposedRequest, cases: readonly ExplainedCase[]) {
  const refusedCase = cases.find(({ outcome }) => outcome === 'deny')
  if (!refusedCase) return []
  const { relations, conditions } = refusedCase
  const misses = nearestMisses(question, request, {
    relations: new Set(relations),
    conditions: new Set(conditions),
    decided: decidedByCases(request),
  })
  return cases.length === 1 ? misses : misses.filter(({ changes }) => !areShownByCases(changes))
}

function areShownByCases(changes: readonly NeededChange[]): boolean {
  const others = changes.filter(({ kind }) => kind !== 'deny')
  return others.length > 0 && others.every(({ kind }) => kind.endsWith('relation') || kind.endsWith('condition'))
}

function namesObject({ route, endpoint }: SupposedRequest): boolean {
  return endpoint.operation !== 'list' && endpoint.operation !== 'create' && route.kind !== 'collection'
}

function notesOf({ endpoint, parsed, resource }: SupposedRequest, known: KnownObject): readonly string[] {
  const owner = ownerFieldOf(resource, parsed.ownership.get(resource.name))
  if (endpoint.operation !== 'create' || known.kind !== 'any' || !owner) return []
  return [`a new object is the caller's own (${owner.name}) unless the body names another owner`]
}
