/**
 * The cases of a request: one decision for each set of relations and conditions of the request that the rules about the
 * caller distinguish.
 */

import { type Evidence, rulePlace } from '../../decide/evidence.ts'
import type { SupposedDecision } from '../../decide/permits/check-fields.ts'
import { isRefusal, type Refusal } from '../../decide/refusal.ts'
import { successStatus } from '../../resources/routing/success-status.ts'
import type { ConditionFact, ExplainedAnswer, ExplainedCase, FieldReport, RelationFact } from './explanation.ts'
import { possibleConditionSets } from './facts/condition-facts.ts'
import { type NameSet, possibleRelations, tooManyCases } from './facts/possible-relations.ts'
import { type WrittenLeaves, writtenBy } from './facts/state-change.ts'
import { problem, refusalAnswer } from './finding.ts'
import { routeAnswer } from './route-answer.ts'
import { decideOn, holdingExactly, listQueryFields, type SupposedRequest } from './supposed-request.ts'

/** The limit of cases; nobody would read more. */
const MOST_CASES = 64

/** The limit of decisions for one explanation. */
const MOST_SETS = 8192

/** What is known of the object and of the request. */
export interface KnownNames {
  readonly relations: readonly RelationFact[]
  readonly conditions: readonly ConditionFact[]
}

/** Smallest sets first. Throws ToolError if there are too many. */
export function casesOf(request: SupposedRequest, known: KnownNames): readonly ExplainedCase[] {
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

function inOrder(set: NameSet, facts: readonly RelationFact[]): readonly string[] {
  return facts.map(({ name }) => name).filter((name) => set.has(name))
}

function decideCase(
  request: SupposedRequest,
  relations: readonly string[],
  conditions: readonly string[],
  written?: WrittenLeaves,
): ExplainedCase {
  const asked = holdingExactly(request, conditions)
  const decision = decideOn(asked, relations, written)
  const part = { relations, conditions }
  if (decision.kind === 'supposed') return { ...part, ...objectCase(asked, decision) }
  if (isRefusal(decision)) return { ...part, ...refusedCase(asked, decision, decision.evidence), listed: null }
  const rules = decision.evidence.lines.map(rulePlace)
  return { ...part, outcome: 'allow', listed: null, answer: routeAnswer(asked), rules, fields: null }
}

type Decided = Omit<ExplainedCase, 'relations' | 'conditions'>

function objectCase(request: SupposedRequest, { grant, readable, refusal }: SupposedDecision): Decided {
  const { endpoint, resource } = request
  const isList = endpoint.operation === 'list'
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
  { subject }: SupposedRequest,
  refusal: Refusal,
  evidence: Pick<Evidence, 'lines'> | undefined,
): Omit<Decided, 'listed'> {
  const answer = refusalAnswer(refusal, subject.caller ? 'caller' : 'anonymous')
  return { outcome: 'deny', answer, rules: (evidence?.lines ?? []).map(rulePlace), fields: null }
}

/** The cases of a request about an object that doesn't exist: who passes the role level learns that. */
export function missingCases(request: SupposedRequest, conditions: readonly ConditionFact[]): readonly ExplainedCase[] {
  const cases = possibleConditionSets(conditions).map((holding) => {
    const one = decideCase(request, [], holding)
    const passes = decideOn(holdingExactly(request, holding), []).kind === 'supposed'
    if (!passes) return one
    return { ...one, outcome: 'deny' as const, answer: problem('object-not-found'), rules: [], fields: null }
  })
  return withoutRepeats(cases)
}

function success(request: SupposedRequest, readable: NameSet): ExplainedAnswer {
  const status = successStatus(request.endpoint.operation, shownFields(request, readable).length > 0)
  return { status, code: null, headers: {} }
}

/**
 * `granted`: the fields that the action grants; `readable`: the fields that `read` grants, shown in answers to writes.
 */
function reportFields(request: SupposedRequest, granted: NameSet, readable: NameSet): FieldReport {
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
function shownFields({ route, policy, resource }: SupposedRequest, granted: NameSet): readonly string[] {
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

function namesOf({ relations, conditions }: ExplainedCase): NameSet {
  return new Set([...relations, ...conditions])
}

function textOf({ relations, conditions, ...rest }: ExplainedCase): string {
  return JSON.stringify(rest)
}
