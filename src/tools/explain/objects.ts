/** Decides about objects: the known object, or one case for each set of relations that the rules distinguish. */

import { rulePlace } from '../../decide/evidence.ts'
import type { Rule } from '../../decide/policy.ts'
import { kindOf } from '../../decide/relations/all-kinds.ts'
import { ownerFieldOf } from '../../decide/relations/ownership.ts'
import { type KnownFacts, scalarsOf } from '../../decide/relations/relation-kind.ts'
import { quote } from '../../present/quote.ts'
import { successStatus } from '../../resources/routing/success-status.ts'
import { casesOf } from './cases.ts'
import type { ExplainedAnswer, ExplainedCase, ExplainedOutcome, RelationFact } from './explanation.ts'
import { allowedBy, type Finding, problem, reasonOf, refusedBy } from './finding.ts'
import { nearestMisses } from './nearest-misses.ts'
import type { ExplainQuestion, KnownObject } from './question.ts'
import { roleLevelOf, type SupposedRequest } from './supposed-request.ts'

const LISTED: ExplainedAnswer = { status: successStatus('list'), code: null, headers: {} }

/** The request must have passed the role level. */
export function decideObjects(question: ExplainQuestion, request: SupposedRequest): Finding {
  const { known } = question
  if (known.kind === 'object' && known.object === undefined) return decideMissing(request, known.id)
  const relations = relationFacts(question, request)
  const cases = casesOf(request, relations)
  return {
    ...summaryOf(cases, request, relations, known),
    rules: rulesOf(request, known, cases),
    relations,
    cases,
    missing: known.kind === 'any' && namesObject(request) ? problem('object-not-found') : null,
    misses: missesOf(request, cases),
    notes: notesOf(request, known),
  }
}

function decideMissing(request: SupposedRequest, id: string): Finding {
  const why = request.route.kind === 'caller' ? 'the caller has no record' : `no object has the id ${quote(id)}`
  if (request.endpoint.operation === 'list') {
    const answered = allowedBy('object', `the list is answered, but ${why}`, LISTED)
    return { ...answered, rules: roleLevelOf(request).rules }
  }
  return refusedBy('object', `${why}; the rules would let the caller ask`, problem('object-not-found'))
}

type Summary = Pick<Finding, 'outcome' | 'stage' | 'reason' | 'answer'>

function summaryOf(
  cases: readonly ExplainedCase[],
  request: SupposedRequest,
  facts: readonly RelationFact[],
  known: KnownObject,
): Summary {
  if (request.endpoint.operation === 'list') return summaryOfList(cases, known)
  const answers = new Map(cases.map(({ answer }) => [answer.status, answer]))
  const answer: ExplainedAnswer | null = answers.size === 1 ? (cases[0]?.answer ?? null) : null
  const outcomes = new Set(cases.map((one) => one.outcome))
  const outcome: ExplainedOutcome = outcomes.size === 1 ? (cases[0]?.outcome ?? 'deny') : 'depends'
  return { outcome, stage: 'object', reason: reasonFor(outcome, cases, request, facts), answer }
}

function reasonFor(
  outcome: ExplainedOutcome,
  cases: readonly ExplainedCase[],
  request: SupposedRequest,
  facts: readonly RelationFact[],
): string {
  if (outcome === 'depends') {
    return `it depends on the relations of the caller to the object: ${differingRelations(cases, facts).join(', ')}`
  }
  if (cases.length > 1) return `${reasonOf(roleLevelOf(request).rules, outcome)}, whatever the object`
  const reason = reasonOf(rulesOfCases(request, cases), outcome)
  return outcome === 'deny' ? `${reason} on an object with these relations` : reason
}

/** The relations in which the cases differ. */
function differingRelations(cases: readonly ExplainedCase[], facts: readonly RelationFact[]): readonly string[] {
  const certain = facts.filter(({ holds }) => holds === true).map(({ name }) => name)
  return [...new Set(cases.flatMap((one) => one.relations)).difference(new Set(certain))]
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
 * The misses of the first refused case. Several cases already show the effect of relations, so their misses omit it.
 */
function missesOf(request: SupposedRequest, cases: readonly ExplainedCase[]) {
  const refusedCase = cases.find(({ outcome }) => outcome === 'deny')
  if (!refusedCase) return []
  const misses = nearestMisses(request, new Set(refusedCase.relations))
  return cases.length === 1 ? misses : misses.filter(({ changes }) => changes.some(({ kind }) => kind !== 'relation'))
}

function namesObject({ route, endpoint }: SupposedRequest): boolean {
  return endpoint.operation !== 'list' && endpoint.operation !== 'create' && route.kind !== 'collection'
}

function notesOf({ endpoint, parsed, resource }: SupposedRequest, known: KnownObject): readonly string[] {
  const owner = ownerFieldOf(resource, parsed.ownership.get(resource.name))
  if (endpoint.operation !== 'create' || known.kind !== 'any' || !owner) return []
  return [`a new object is the caller's own (${owner.name}) unless the body names another owner`]
}

/** For each relation of ownership.yaml: whether it holds between the caller and the object (if known), and why. */
function relationFacts(
  question: ExplainQuestion,
  { parsed, resource, route }: SupposedRequest,
): readonly RelationFact[] {
  const { known } = question
  const relations = [...(parsed.ownership.get(resource.name)?.relations.values() ?? [])]
  if (known.kind === 'relations') {
    return relations.map(({ name }) => ({ name, holds: known.holding.has(name), why: `${known.from} says so` }))
  }
  const facts: KnownFacts = {
    hasCredentials: question.caller.kind === 'caller',
    attribute: (name) => attributeOf(question, name),
    object: objectOf(question),
    isOwnRecord: route.kind === 'caller',
    now: question.now,
    related: () => undefined,
  }
  return relations.map((relation) => ({ name: relation.name, ...kindOf(relation).explain(relation, facts) }))
}

function objectOf({ known }: ExplainQuestion): KnownFacts['object'] {
  if (known.kind === 'object') return { fields: known.object ?? {}, complete: true }
  return { fields: known.id === undefined ? {} : { id: known.id }, complete: false }
}

/** Reads the caller's users record, as the server does; without a record the token's claims would count. */
function attributeOf({ caller, known }: ExplainQuestion, attribute: string): ReturnType<KnownFacts['attribute']> {
  if (attribute === 'id') {
    const id = caller.kind === 'caller' ? caller.subject : undefined
    return { values: id === undefined ? [] : [id], isKnown: id !== undefined }
  }
  const record = known.kind === 'object' ? known.record : undefined
  const value = record && Object.hasOwn(record, attribute) ? record[attribute] : undefined
  return { values: scalarsOf(value), isKnown: record !== undefined }
}
