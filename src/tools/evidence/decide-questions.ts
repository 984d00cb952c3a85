/**
 * Decides the questions of other services again (AuthZEN evaluations and filters), by the code that answered them: what
 * the record holds replaces the store, the directory, and what the service asserted.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Difference } from '../../analysis/replay/compare.ts'
import type { ReplayPolicy } from '../../analysis/replay/decide-again.ts'
import { permitAgain, unaskedUnder } from '../../analysis/replay/permit-again.ts'
import {
  FactsMissing,
  type RecordedRequest,
  recordedLookups,
  recordedObject,
  unknownFact,
} from '../../analysis/replay/recorded.ts'
import { comparisonsIn } from '../../decide/conditions/condition.ts'
import type { Decision } from '../../decide/decision.ts'
import { type Facts, recordedFields } from '../../decide/evidence.ts'
import { NO_FACTS, withFacts } from '../../decide/facts.ts'
import { actionNamed, type Trust } from '../../decide/grants/trust.ts'
import type { Refusal } from '../../decide/refusal.ts'
import { type AskedRecord, type DecisionRecord, MASKED, MOST_FIELDS_ASKED } from '../../decision-log/decision-record.ts'
import type { ActivePolicy } from '../../policy/live/active-policy.ts'
import type { Resource } from '../../resources/resource.ts'
import { type Evaluated, evaluateFor, fieldsGranted, type GrantedFields, writableOf } from '../../server/authzen/ask.ts'
import { type AskedRoute, routeAsked } from '../../server/authzen/asked-routes.ts'
import type { Evaluation } from '../../server/authzen/entities.ts'
import { filterFor } from '../../server/authzen/filter/filter.ts'
import type { Deciding, Evaluating } from '../../server/authzen/pep.ts'
import type { KnownSubject } from '../../server/authzen/trust.ts'

/** `unconcerned`: it ended before a policy was asked. */
export type QuestionAgain =
  | { readonly kind: 'same' | 'unconcerned' }
  | { readonly kind: 'undecidable'; readonly why: string }
  | { readonly kind: 'different'; readonly difference: Pick<Difference, 'was' | 'becomes' | 'lines'> }

interface AnsweredAgain extends Pick<Evaluated, 'decision' | 'evidence'> {
  readonly reason?: string | undefined
  /** A filter that is another condition than the recorded one. */
  readonly isOtherRows?: boolean
}

/** Nobody was found to decide about: nothing of it is in a policy. */
const NOT_FOUND: ReadonlySet<string | undefined> = new Set(['subject-unknown', 'subject-disabled', 'subject-token'])

/** Never throws because of a record's content; a fault of the program is thrown. */
export async function decideQuestion(
  { resources, policyAt }: ReplayPolicy,
  record: DecisionRecord,
  place: number,
): Promise<QuestionAgain> {
  const asked = record.asked?.[place]
  if (!asked || asked.cut) return undecidable('the record was too long to hold its facts')
  if (NOT_FOUND.has(asked.reason)) return { kind: 'unconcerned' }
  if (asked.reason === 'condition-unknown') return undecidable('it depended on a condition that was not known')
  if ([asked.subject, asked.objectId, ...(asked.roles ?? [])].includes(MASKED)) return undecidable(MASKED_VALUE)
  const now = Date.parse(record.time)
  const policy = policyAt(now)
  const facts = asked.facts ?? (asked.factsOf === undefined ? undefined : record.asked?.[asked.factsOf]?.facts) ?? {}
  const alike = recordAlike(asked, facts, record)
  const question = { asked, facts, alike, policy, resources, now, trust: trustIn(policy, record) }
  try {
    return judge(question, await answerAgain(question))
  } catch (error) {
    if (error instanceof FactsMissing) return undecidable(error.message)
    throw error
  }
}

const MASKED_VALUE = "the record doesn't hold a value that is masked"

function undecidable(why: string): QuestionAgain {
  return { kind: 'undecidable', why }
}

interface RecordedQuestion extends Pick<Deciding, 'resources' | 'now' | 'trust'> {
  readonly asked: AskedRecord
  readonly facts: Facts
  /** The record of a request that would hold the same facts. */
  readonly alike: DecisionRecord
  readonly policy: ActivePolicy
}

function recordAlike(asked: AskedRecord, facts: Facts, { time, requestId, revision }: DecisionRecord): DecisionRecord {
  const { subject, roles, rolesLost, objectId, reason } = asked
  const answer = { outcome: 'allowed', status: 200, microseconds: 0 } as const
  const missing = reason === 'object-missing' ? { problem: 'object-not-found' } : {}
  const who = { authentication: 'caller', subject, roles, rolesLost, objectId }
  return { time, requestId, revision, method: 'GET', ...who, ...missing, ...answer, facts }
}

/** What callers.yaml lets the service of the record assert. */
function trustIn({ snapshot }: ActivePolicy, { authentication, subject, ...of }: DecisionRecord): Trust {
  const { roles = [], rolesLost, credential } = of
  const service = { id: subject ?? '', roles, recordRoles: rolesLost, claims: {}, credential }
  return snapshot.trustOf(snapshot.subjectOf(authentication === 'anonymous' ? undefined : service))
}

// ---- The answer.

/** Throws FactsMissing. */
async function answerAgain(question: RecordedQuestion): Promise<AnsweredAgain> {
  const { asked, facts, alike, policy, resources, trust } = question
  const { subjectType = 'user', resource = '' } = asked
  const target = routeAsked(resources, resource, actionNamed(trust, resource, asked.action ?? ''))
  if ('reason' in target) return { decision: false, reason: target.reason }
  const source = trust.subjects.get(subjectType)
  if (!source) return { decision: false, reason: 'subject-type' }
  const isAsserted = source.kind === 'asserted'
  if (isAsserted && policy.snapshot.grantsByName(asked.subject ?? ''))
    return { decision: false, reason: 'subject-named' }
  const caller = {
    id: asked.subject ?? '',
    roles: asked.roles ?? [],
    recordRoles: asked.rolesLost,
    claims: facts.attributes ?? {},
  }
  const about = { target, subject: { caller, ...(isAsserted && { isAsserted }) } }
  const isStored = isOfStored(question, target)
  const unknown = isStored && (await unknownFact(policy.snapshot, requestOf(about, asked), alike))
  if (unknown) throw new FactsMissing(unknown)
  const pep = pepAgain(question, isStored)
  if (asked.objectId === undefined) return filterAgain(pep, about, question)
  const evaluation = evaluationOf(question, isStored)
  return evaluateFor(pep, { ...about, evaluation }, grantedAgain(question, about))
}

/** A record has all fields of a stored object that rules compare, and of another one those that were asserted. */
function isOfStored({ facts: { object }, trust, policy }: RecordedQuestion, { resource }: AskedRoute): boolean {
  if (resource.external) return false
  if (!trust.assertedResources.has(resource.name)) return true
  return (
    object !== undefined &&
    recordedFields(resource, policy.snapshot.ownershipOf(resource.name)).every((name) => Object.hasOwn(object, name))
  )
}

type About = { readonly target: AskedRoute; readonly subject: KnownSubject }

function requestOf({ target, subject }: About, { objectId }: AskedRecord): RecordedRequest {
  return { ...target, id: objectId, caller: subject.caller }
}

function pepAgain(question: RecordedQuestion, isStored: boolean): Evaluating {
  const { policy, resources, now, trust, facts, alike } = question
  // The attributes of the subject are its claims.
  const source = {
    user: () => undefined,
    object: (_resource: string, id: string) => (isStored ? recordedObject(alike, id) : undefined),
    lookup: recordedLookups(alike, 'related'),
  }
  // What is known of a condition was recorded, however it came to be known.
  const known = Object.keys(facts.conditions ?? {}).map((name) => [name, { in: 'context', member: name }] as const)
  return {
    ...{ policy, resources, now, trust: { ...trust, conditions: new Map([...trust.conditions, ...known]) } },
    ask: (steps) => withFacts(steps, source),
    once: (_key, find) => find(),
  }
}

/** Throws FactsMissing. */
function evaluationOf({ asked, facts }: RecordedQuestion, isStored: boolean): Evaluation {
  const { subjectType: type = 'user', subject = '', resource = '', objectId: id = '', action: name = '' } = asked
  if (!isStored && Object.values(facts.object ?? {}).includes(MASKED)) throw new FactsMissing(MASKED_VALUE)
  // What doesn't fit the schema was refused before the fields were looked at.
  const { fieldsAsked = [] } = AFTER_POLICY.has(asked.reason) ? {} : asked
  const fields = fieldsAsked.length > 0 ? fieldsAsked : undefined
  const body = facts.named && facts.changed ? { body: {} } : {}
  return {
    subject: { type, id: subject },
    resource: { type: resource, id, ...(facts.object && !isStored && { properties: facts.object }) },
    action: { name, properties: { ...(fields && { fields }), ...body } },
    context: facts.conditions ?? {},
  }
}

/** What a write would be permitted, as far as the record shows the object after it. */
function grantedAgain({ asked, facts, alike }: RecordedQuestion, about: About): typeof fieldsGranted {
  return async (pep, decision, target, evaluation) => {
    const { operation } = target.endpoint
    if (facts.named === undefined || !isWrite(decision)) return fieldsGranted(pep, decision, target, evaluation)
    const method = operation === 'replace' ? 'PUT' : 'PATCH'
    const steps = permitAgain(
      decision,
      { ...alike, method },
      unaskedUnder(pep.policy.snapshot, requestOf(about, asked)),
    )
    const when = decision.kind === 'update' ? 'relatedAfter' : 'related'
    const permitted = await withFacts(steps, { ...NO_FACTS, lookup: recordedLookups(alike, when) })
    if (permitted === 'partly') throw new FactsMissing("the record doesn't hold what the change would be")
    return grantedBy(decision, target.resource, permitted, asked)
  }
}

function isWrite({ kind }: Decision): boolean {
  return kind === 'create' || kind === 'update'
}

function grantedBy(
  decision: Decision,
  resource: Resource,
  permitted: 'whole' | Refusal,
  { reason }: AskedRecord,
): GrantedFields | Refusal {
  const all = writableOf(resource)
  const { evidence } = decision
  if (permitted === 'whole') {
    const isNew = decision.kind === 'create'
    const fields = decision.kind === 'update' ? all.intersection(decision.writable) : all
    return { kind: 'granted', fields, all: isNew ? all : new Set(), evidence }
  }
  // Without values of a new object, each field is asked about by itself.
  const isByField = decision.kind === 'create' && permitted.check === 'write' && reason !== 'fields-refused'
  if (!isByField) return permitted
  const fields = all.difference(new Set(permitted.evidence?.fieldsRefused))
  return { kind: 'granted', fields, all, evidence }
}

async function filterAgain(pep: Evaluating, about: About, question: RecordedQuestion): Promise<AnsweredAgain> {
  const { facts } = question
  const where = facts.where ?? { kind: 'never' }
  if (comparisonsIn(where).some(({ value }) => value === MASKED)) throw new FactsMissing(MASKED_VALUE)
  const filtering = { ...pep, nextSlice: () => undefined, gone: () => new AbortController().signal }
  const { rows, reason, evidence } = await filterFor(filtering, { ...about, asked: evaluationOf(question, true) })
  const answer = { decision: rows.where.kind !== 'never', reason, evidence }
  return isDeepStrictEqual(rows.where, where) ? answer : { ...answer, isOtherRows: true }
}

// ---- Compared with the record.

/** The answers that a policy doesn't give alone: it allowed the change. */
const AFTER_POLICY: ReadonlySet<string | undefined> = new Set(['body-invalid', 'roles-apart'])

function judge({ asked, trust }: RecordedQuestion, again: AnsweredAgain): QuestionAgain {
  const { decision, reason, fieldsAsked } = asked
  const isSame = decision === again.decision && isSameReason(asked, again, trust) && !again.isOtherRows
  if (isSame || (again.decision && AFTER_POLICY.has(reason))) return { kind: 'same' }
  if ([reason, again.reason].includes('attributes-missing')) return undecidable('it depended on what the service said')
  // Records of former versions don't tell which fields were asked about.
  const isUntold = fieldsAsked === undefined || fieldsAsked.length === MOST_FIELDS_ASKED
  const dependsOnFields = again.isOtherRows || ABOUT_FIELDS.has(again.reason) || ABOUT_FIELDS.has(reason)
  if (isUntold && dependsOnFields) return undecidable("the record doesn't hold which fields were asked about")
  const becomes = again.isOtherRows ? 'true for other rows' : answerText(again)
  const lines = again.evidence?.lines ?? []
  return { kind: 'different', difference: { was: answerText(asked), becomes, lines } }
}

const ABOUT_FIELDS: ReadonlySet<string | undefined> = new Set(['partly-granted', 'fields-refused', 'body-needed'])

/** An asserted object whose attributes are all there looks like a stored one, which is concealed. */
function isSameReason({ reason, resource }: AskedRecord, again: AnsweredAgain, { assertedResources }: Trust): boolean {
  if (reason === again.reason) return true
  const concealed = ['not-granted-here', 'object-missing']
  return assertedResources.has(resource ?? '') && [reason, again.reason].every((one) => concealed.includes(one ?? ''))
}

function answerText({ decision, reason }: Pick<AskedRecord, 'decision' | 'reason'>): string {
  return reason === undefined ? String(decision) : `${decision} (${reason})`
}
