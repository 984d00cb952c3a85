/** What is decided about objects: one that is known, or every kind that rules can tell apart. */

import { ownerFieldOf } from '../../decide/relations/ownership.ts'
import { quote } from '../../present/quote.ts'
import { successStatus } from '../../resources/routing/success-status.ts'
import type { Answer, Case, Outcome, RelationFact } from './explanation.ts'
import { allowed, type Finding, problem, refused } from './finding.ts'
import { type Ground, pageRules } from './ground.ts'
import { judge } from './judge.ts'
import { nearestMisses } from './nearest-misses.ts'
import type { KnownObject } from './question.ts'
import { placeOf } from './quote-rules.ts'
import { assumeRelations, type Sources, tellRelations } from './relation-facts.ts'
import { distinctSets } from './relation-sets.ts'
import { reasonOf } from './role-level.ts'

const LISTED: Answer = { status: successStatus('list'), code: null, headers: {} }

/** The role level must have been passed. */
export function decideObjects(ground: Ground, known: KnownObject): Finding {
  if (known.kind === 'object' && known.object === undefined) return decideMissing(ground, known.id)
  const relations = factsOf(ground, known)
  const cases = withoutRepeats(distinctSets(ground, relations).map((set) => judge(ground, set)))
  const summary = summaryOf(cases, { ground, relations })
  return {
    ...summary,
    rules: rulesOf(ground, known, cases),
    relations,
    cases,
    missing: known.kind === 'any' && namesObject(ground) ? problem('object-not-found') : null,
    misses: missesOf(ground, cases),
    notes: notesOf(ground, known),
  }
}

/** Leaves out a case that is decided like each of the largest cases within it: an object of it falls to one of those. */
function withoutRepeats(cases: readonly Case[]): readonly Case[] {
  const kept: Case[] = []
  for (const one of cases) {
    const within = kept.filter((other) => isWithin(other, one))
    const largest = within.filter((other) => !within.some((more) => more !== other && isWithin(other, more)))
    if (largest.length === 0 || largest.some((other) => decided(other) !== decided(one))) kept.push(one)
  }
  return kept
}

function isWithin(small: Case, large: Case): boolean {
  return new Set(small.relations).isSubsetOf(new Set(large.relations))
}

function decided({ relations, ...rest }: Case): string {
  return JSON.stringify(rest)
}

function decideMissing(ground: Ground, id: string): Finding {
  const whose = ground.route.kind === 'caller' ? 'the caller has no record' : `no object has the id ${quote(id)}`
  if (ground.endpoint.operation === 'list') {
    const answered = allowed('object', `the list is answered, but ${whose}`, LISTED)
    return { ...answered, rules: pageRules(ground, ground.action) }
  }
  return refused('object', `${whose}; the rules would let the caller ask`, problem('object-not-found'))
}

function factsOf(ground: Ground, known: KnownObject): readonly RelationFact[] {
  const ownership = ground.policy.ownership.get(ground.resource.name)
  if (known.kind === 'relations') return assumeRelations(ownership, known)
  return tellRelations(ownership, knownOf(ground, known))
}

function knownOf({ caller, route }: Ground, known: Exclude<KnownObject, { kind: 'relations' }>): Sources {
  const isOwnRecord = route.kind === 'caller'
  if (known.kind === 'object') {
    return { caller, isOwnRecord, record: known.record, object: { fields: known.object ?? {}, complete: true } }
  }
  const fields = known.id === undefined ? {} : { id: known.id }
  return { caller, isOwnRecord, record: undefined, object: { fields, complete: false } }
}

type Summary = Pick<Finding, 'outcome' | 'stage' | 'reason' | 'answer'>

interface Context {
  readonly ground: Ground
  readonly relations: readonly RelationFact[]
}

function summaryOf(cases: readonly Case[], context: Context): Summary {
  if (context.ground.endpoint.operation === 'list') return summaryOfList(cases)
  const answers = new Map(cases.map(({ answer }) => [answer.status, answer]))
  const answer: Answer | null = answers.size === 1 ? (cases[0]?.answer ?? null) : null
  const outcomes = new Set(cases.map((one) => one.outcome))
  const outcome: Outcome = outcomes.size === 1 ? (cases[0]?.outcome ?? 'deny') : 'depends'
  return { outcome, stage: 'object', reason: reasonFor(outcome, cases, context), answer }
}

function reasonFor(outcome: Outcome, cases: readonly Case[], { ground, relations }: Context): string {
  if (outcome === 'depends')
    return `it depends on how the caller relates to the object: ${tellingApart(cases, relations)}`
  if (cases.length > 1) return `${reasonOf(pageRules(ground, ground.action), outcome)}, whatever the object`
  const reason = reasonOf(matching(ground, cases), outcome)
  return outcome === 'deny' ? `${reason} on an object that relates like this` : reason
}

/** The relations by which the cases differ. */
function tellingApart(cases: readonly Case[], relations: readonly RelationFact[]): string {
  const certain = relations.filter(({ holds }) => holds === true).map(({ name }) => name)
  const names = new Set(cases.flatMap((one) => one.relations)).difference(new Set(certain))
  return [...names].join(', ')
}

/** A list that holds nothing is an answer like any other. */
function summaryOfList(cases: readonly Case[]): Summary {
  const [first] = cases
  if (cases.length > 1) return allowed('object', 'the list is answered with the objects that the rules let in', LISTED)
  const reason = first?.listed
    ? 'such an object is in the list'
    : 'the list is answered, but such an object is not in it'
  return allowed('object', reason, LISTED)
}

function matching(ground: Ground, cases: readonly Case[]) {
  const places = new Set(cases.flatMap(({ rules }) => rules))
  return pageRules(ground, ground.action).filter((rule) => places.has(placeOf(rule)))
}

/** As in the server's records: of a list and of an object that isn't made yet, all the rules that could match. */
function rulesOf(ground: Ground, known: KnownObject, cases: readonly Case[]) {
  const { operation } = ground.endpoint
  const isOpen = known.kind === 'any' && (operation === 'list' || operation === 'create')
  return isOpen || cases.length > 1 ? pageRules(ground, ground.action) : matching(ground, cases)
}

/** Of the first case that is refused. Where cases show what relations bring, only other changes are told. */
function missesOf(ground: Ground, cases: readonly Case[]) {
  const refusedCase = cases.find(({ outcome }) => outcome === 'deny')
  if (!refusedCase) return []
  const misses = nearestMisses(ground, new Set(refusedCase.relations))
  return cases.length === 1 ? misses : misses.filter(({ changes }) => changes.some(({ kind }) => kind !== 'relation'))
}

function namesObject({ route, endpoint }: Ground): boolean {
  return endpoint.operation !== 'list' && endpoint.operation !== 'create' && route.kind !== 'collection'
}

function notesOf({ endpoint, policy, resource }: Ground, known: KnownObject): readonly string[] {
  const owner = ownerFieldOf(resource, policy.ownership.get(resource.name))
  if (endpoint.operation !== 'create' || known.kind !== 'any' || !owner) return []
  return [`a new object is the caller's own (${owner.name}) unless the body names somebody else`]
}
