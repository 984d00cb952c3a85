/**
 * The cases of a request: one decision for each set of relations and conditions of the request that the rules about the
 * caller distinguish.
 */
import type { WrittenLeaves } from '../../analysis/possible-sets.ts'
import { type Evidence, rulePlace } from '../../decide/evidence.ts'
import type { HypotheticalDecision } from '../../decide/permits/assumed-object.ts'
import type { Rule } from '../../decide/policy.ts'
import { isRefusal, type Refusal } from '../../decide/refusal.ts'
import { ownerFieldOf } from '../../decide/relations/ownership.ts'
import { quote } from '../../present/quote.ts'
import { concernsMany } from '../../resources/resource.ts'
import { successStatus } from '../../resources/routing/success-status.ts'
import type {
  ConditionFact,
  ExplainedAnswer,
  ExplainedCase,
  ExplainedOutcome,
  FieldReport,
  Names,
  NeededChange,
  RelationFact,
} from './explanation.ts'
import { possibleConditionSets, possibleRelations, relationFacts, tooManyCases } from './facts.ts'
import { decidedByCases, nearestMisses } from './nearest-misses.ts'
import {
  allowedBy,
  decideOn,
  type ExplainQuestion,
  type Finding,
  type HypotheticalRequest,
  holdingExactly,
  type KnownObject,
  listQueryFields,
  problem,
  reasonOf,
  reasonOfField,
  refusalAnswer,
  refusedBy,
  roleLevelOf,
  routeAnswer,
  writtenBy,
} from './request.ts'

/** The limit of cases; nobody would read more. */
const MOST_CASES = 64

/** The limit of decisions for one explanation. */
const MOST_SETS = 8192

/** What is known of the object and of the request. */
interface KnownTruths {
  readonly relations: readonly RelationFact[]
  readonly conditions: readonly ConditionFact[]
}

/** Smallest sets first. Throws ToolError if there are too many. */
function casesOf(request: HypotheticalRequest, known: KnownTruths): readonly ExplainedCase[] {
  const relations = possibleRelations(request, known.relations)
  const conditions = possibleConditionSets(known.conditions)
  if (relations.length * conditions.length > MOST_SETS) throw tooManyCases()
  const sets = relations
    .flatMap((set) => conditions.map((holding) => ({ ...set, set: inOrder(set.names, known.relations), holding })))
    .toSorted((a, b) => a.set.length + a.holding.length - b.set.length - b.holding.length)
  return withoutRepeats(
    sets.map(({ set, leaves, holding }) => {
      return decideCase(request, set, holding, request.becomes && writtenBy(request.becomes, leaves))
    }),
  )
}

function inOrder(set: Names, facts: readonly RelationFact[]): readonly string[] {
  return facts.map(({ name }) => name).filter((name) => set.has(name))
}

function decideCase(
  request: HypotheticalRequest,
  relations: readonly string[],
  conditions: readonly string[],
  written?: WrittenLeaves,
): ExplainedCase {
  const asked = holdingExactly(request, conditions)
  const decision = decideOn(asked, relations, written)
  const part = { relations, conditions }
  if (decision.kind === 'hypothetical') return { ...part, ...objectCase(asked, decision) }
  if (isRefusal(decision)) return { ...part, ...refusedCase(asked, decision, decision.evidence), listed: null }
  const rules = decision.evidence.lines.map(rulePlace)
  return { ...part, outcome: 'allow', listed: null, answer: routeAnswer(asked), rules, fields: null }
}

type DecidedCase = Omit<ExplainedCase, 'relations' | 'conditions'>

function objectCase(request: HypotheticalRequest, { grant, readable, refusal }: HypotheticalDecision): DecidedCase {
  const { endpoint, resource } = request
  const isList = concernsMany(endpoint.operation)
  if (refusal && !isList) return { ...refusedCase(request, refusal, grant), listed: null }
  const hasFields = resource.actions.get(endpoint.action)?.hasFields === true
  return {
    outcome: refusal ? 'deny' : 'allow',
    listed: isList ? !refusal : null,
    answer: success(request, readable),
    rules: grant.lines.map(rulePlace),
    fields: !refusal && hasFields ? reportFields(request, grant.fields, readable) : null,
  }
}

function refusedCase(
  { subject }: HypotheticalRequest,
  refusal: Refusal,
  evidence: Pick<Evidence, 'lines'> | undefined,
): Omit<DecidedCase, 'listed'> {
  const answer = refusalAnswer(refusal, subject.caller ? 'caller' : 'anonymous')
  return { outcome: 'deny', answer, rules: (evidence?.lines ?? []).map(rulePlace), fields: null }
}

/** The cases of a request about an object that doesn't exist: who passes the role level learns that. */
function missingCases(request: HypotheticalRequest, conditions: readonly ConditionFact[]): readonly ExplainedCase[] {
  const cases = possibleConditionSets(conditions).map((holding) => {
    const one = decideCase(request, [], holding)
    const passes = decideOn(holdingExactly(request, holding), []).kind === 'hypothetical'
    if (!passes) return one
    return { ...one, outcome: 'deny' as const, answer: problem('object-not-found'), rules: [], fields: null }
  })
  return withoutRepeats(cases)
}

function success(request: HypotheticalRequest, readable: Names): ExplainedAnswer {
  const status = successStatus(request.endpoint.operation, shownFields(request, readable).length > 0)
  return { status, code: null, headers: {} }
}

/**
 * `granted`: the fields that the action grants; `readable`: the fields that `read` grants, shown in answers to writes.
 */
function reportFields(request: HypotheticalRequest, granted: Names, readable: Names): FieldReport {
  const { operation } = request.endpoint
  const isWrite = operation === 'create' || operation === 'replace' || operation === 'update'
  const fields = [...request.resource.fields.values()]
  const own = fields.filter(({ readOnly }) => !readOnly).map(({ name }) => name)
  const shows = isWrite ? readable : granted
  const shown = shownFields(request, shows)
  const names = fields.map(({ name }) => name)
  return {
    shown,
    notShown: names.filter((name) => !shows.has(name)),
    cut: names.filter((name) => shows.has(name) && !shown.includes(name)),
    writable: isWrite ? own.filter((name) => granted.has(name)) : null,
    notWritable: isWrite ? own.filter((name) => !granted.has(name)) : [],
    server: isWrite ? fields.filter(({ readOnly }) => readOnly).map(({ name }) => name) : [],
    queryable: operation === 'list' ? listQueryFields(request) : null,
  }
}

/** The granted fields that are in the path's view, in the schema's order. */
function shownFields({ route, policy, resource }: HypotheticalRequest, granted: Names): readonly string[] {
  const view = route.view === undefined ? granted : policy.viewOf(resource.name, route.view)
  return [...resource.fields.keys()].filter((name) => granted.has(name) && view.has(name))
}

/**
 * Omits a case if it has the same decision as each of the largest cases within it: one of those represents its objects.
 */
function withoutRepeats(cases: readonly ExplainedCase[]): readonly ExplainedCase[] {
  const kept: ExplainedCase[] = []
  for (const one of cases) {
    const within = kept.filter((other) => isWithin(other, one))
    const largest = within.filter((other) => !within.some((more) => more !== other && isWithin(other, more)))
    if (largest.length === 0 || largest.some((other) => textOf(other) !== textOf(one))) kept.push(one)
    if (kept.length > MOST_CASES) throw tooManyCases()
  }
  return kept
}

function isWithin(small: ExplainedCase, large: ExplainedCase): boolean {
  return namesOf(small).isSubsetOf(namesOf(large))
}

function namesOf({ relations, conditions }: ExplainedCase): Names {
  return new Set([...relations, ...conditions])
}

function textOf({ relations, conditions, ...rest }: ExplainedCase): string {
  return JSON.stringify(rest)
}

// ---- Decides what depends on more than the caller: on the object and on conditions of the request. What is known
// gives one case; otherwise there is one for each set that the rules distinguish.

const LISTED: ExplainedAnswer = { status: successStatus('list'), code: null, headers: {} }

/** The request must have passed the role level under some of the conditions that may hold. */
export function decideObjects(
  question: ExplainQuestion,
  request: HypotheticalRequest,
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
  request: HypotheticalRequest,
  conditions: readonly ConditionFact[],
): Finding {
  const facts = { relations: [], conditions }
  const cases = casesOf(request, facts)
  const summary = summaryOf(cases, request, facts, NO_OBJECT)
  const parts = { rules: roleLevelOf(request).rules, ...facts, cases, missing: null, notes: [] }
  return { ...summary, stage: 'role', ...parts, misses: missesOf(question, request, cases) }
}

const NO_OBJECT: KnownObject = { kind: 'any', id: undefined }

function decideMissing(request: HypotheticalRequest, id: string, conditions: readonly ConditionFact[]): Finding {
  const why = request.route.kind === 'caller' ? 'the caller has no record' : `no object has the id ${quote(id)}`
  if (concernsMany(request.endpoint.operation)) {
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
  request: HypotheticalRequest,
  facts: KnownTruths,
  known: KnownObject,
): Summary {
  const isAnswered = cases.every(({ listed }) => listed !== null)
  if (concernsMany(request.endpoint.operation) && isAnswered) return summaryOfList(cases, known)
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
  request: HypotheticalRequest,
  facts: KnownTruths,
): string {
  if (outcome === 'depends') return `it depends on ${differing(cases, facts)}`
  if (cases.length > 1) return `${reasonOf(request, roleLevelOf(request).rules, outcome)}, whatever the object`
  const rules = rulesOfCases(request, cases)
  const { becomes } = request
  const ofField = outcome === 'deny' && becomes ? reasonOfField(rules, becomes.field) : undefined
  if (ofField !== undefined) return ofField
  const reason = reasonOf(request, rules, outcome)
  if (outcome === 'allow') return reason
  return `${reason} on an object with these relations${becomes ? ', before and after the write' : ''}`
}

/** The relations and conditions in which the cases differ. */
function differing(cases: readonly ExplainedCase[], facts: KnownTruths): string {
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

function rulesOfCases(request: HypotheticalRequest, cases: readonly ExplainedCase[]): readonly Rule[] {
  const places = new Set(cases.flatMap(({ rules }) => rules))
  return roleLevelOf(request).rules.filter((rule) => places.has(rulePlace(rule.line)))
}

/** As in decision records: for a list and for a new object, all rules that could match. */
function rulesOf(request: HypotheticalRequest, known: KnownObject, cases: readonly ExplainedCase[]): readonly Rule[] {
  const { operation } = request.endpoint
  const isOpen = known.kind === 'any' && (concernsMany(operation) || operation === 'create')
  return isOpen || cases.length > 1 ? roleLevelOf(request).rules : rulesOfCases(request, cases)
}

/**
 * The misses of the first refused case. Several cases already show the effect of relations and conditions, so their
 * misses omit it, and don't offer a part of it beside the denies of another case.
 */
function missesOf(question: ExplainQuestion, request: HypotheticalRequest, cases: readonly ExplainedCase[]) {
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

function namesObject({ route, endpoint }: HypotheticalRequest): boolean {
  return !concernsMany(endpoint.operation) && endpoint.operation !== 'create' && route.kind !== 'collection'
}

function notesOf(request: HypotheticalRequest, known: KnownObject): readonly string[] {
  const { parent } = request.route
  const creates = new Set(request.route.command?.creates.map(({ resource }) => resource))
  const created = request.route.command?.grantsSteps
    ? []
    : [...creates].map(
        (name) => `it also creates an object of ${quote(name)}, which is decided as its own POST: explain that too`,
      )
  const found = parent ? [`whoever may not read the object of \`${parent.resource}\` in the path gets 404`] : []
  return [...found, ...created, ...ownerNotes(request, known)]
}

function ownerNotes({ endpoint, parsed, resource }: HypotheticalRequest, known: KnownObject): readonly string[] {
  const owner = ownerFieldOf(resource, parsed.ownership.get(resource.name))
  if (endpoint.operation !== 'create' || known.kind !== 'any' || !owner) return []
  return [`a new object is the caller's own (${owner.name}) unless the body names another owner`]
}
