/** One evaluation is one decision of the gate (src/decide/decide.ts), about a subject that the PEP names. */

import { v7 as uuidv7 } from 'uuid'
import { onceKnown } from '../../base/now-or-later.ts'
import { textOfTime } from '../../base/time.ts'
import type { Caller } from '../../decide/caller.ts'
import { decide, isBlocked, type Question } from '../../decide/decide.ts'
import type { CreateDecision, Decision, UpdateDecision } from '../../decide/decision.ts'
import type { Evidence } from '../../decide/evidence.ts'
import {
  type AssertedObject,
  decideWithUnknowns,
  lacksAttributes,
  type PartialDecision,
} from '../../decide/grants/asserted-object.ts'
import { actionNamed } from '../../decide/grants/trust.ts'
import { permitCreates } from '../../decide/permits/command-creates.ts'
import { proposeCommand, proposeNew, proposeReplacement, proposeUpdate } from '../../decide/permits/propose.ts'
import { isRefusal, type Refusal } from '../../decide/refusal.ts'
import { represent } from '../../resources/object.ts'
import type { FieldNames, Resource } from '../../resources/resource.ts'
import { type AskedRoute, routeAsked } from './asked-routes.ts'
import { type Evaluation, fieldsAsked, type Members } from './entities.ts'
import type { Deciding, Evaluating, Pep } from './pep.ts'
import {
  assertedObject,
  type DenialReason,
  denialReasonOf,
  type Holding,
  inEveryCase,
  type KnownSubject,
  knownConditions,
  subjectOf,
} from './trust.ts'

export interface Evaluated {
  readonly decision: boolean
  /** Of a decision that is false. */
  readonly reason?: DenialReason
  /** The granted fields, for services that heed them. */
  readonly fields?: readonly string[]
  readonly evidence?: Evidence | undefined
  /** The subject, where it is known. */
  readonly caller?: Caller
  /** The policy's name of the action. */
  readonly action?: string
}

type JudgedCase = Omit<Evaluated, 'caller' | 'action'>

/** Throws what the store throws, and Problem invalid-body for what callers.yaml lets the service assert. */
export function evaluate(pep: Pep, evaluation: Evaluation): Evaluated | Promise<Evaluated> {
  const { subject, resource, action } = evaluation
  const target = routeAsked(pep.resources, resource.type, actionNamed(pep.trust, resource.type, action.name))
  if ('reason' in target) return { decision: false, reason: target.reason }
  return onceKnown(subjectOf(pep, subject), (found): Evaluated | Promise<Evaluated> => {
    if ('reason' in found) return { decision: false, reason: found.reason }
    return evaluateFor(pep, { target, subject: found, evaluation }, fieldsGranted)
  })
}

/** `granted`: finds the fields that a decision grants. */
export function evaluateFor(
  pep: Evaluating,
  about: Omit<AskedEvaluation, 'holding'>,
  granted: typeof fieldsGranted,
): Evaluated | Promise<Evaluated> {
  const { target, subject, evaluation } = about
  const known = knownConditions(pep, evaluation, subject)
  const judged = inEveryCase<JudgedCase>(known, (holding) => decideAbout(pep, { ...about, holding }, granted))
  return onceKnown(judged, (one) => ({ caller: subject.caller, action: target.endpoint.action, ...one }))
}

interface AskedEvaluation extends AskedTarget {
  readonly evaluation: Evaluation
}

interface AskedTarget {
  readonly target: AskedRoute
  readonly subject: KnownSubject
  /** Without an id, the question is about all objects. */
  readonly evaluation: { readonly resource: { readonly id?: string } }
  readonly holding: Holding
}

function decideAbout(
  pep: Evaluating,
  asked: AskedEvaluation,
  grantedBy: typeof fieldsGranted,
): JudgedCase | Promise<JudgedCase> {
  const { target, subject, evaluation } = asked
  const { id } = evaluation.resource
  // Such a route shows the caller's own record, whatever the request names.
  if (target.route.kind === 'caller' && id !== subject.caller.id) return { decision: false, reason: 'object-missing' }
  const asserted = () => assertedObject(pep, target.resource, evaluation, subject)
  const elsewhere = target.resource.external ? asserted() : undefined
  if (elsewhere) return decideAboutAsserted(pep, asked, elsewhere)
  return onceKnown(pep.ask(decide(questionOf(pep, asked), pep.policy.snapshot)), (decision) => {
    // What the service asserts of a stored object neither counts nor is refused.
    const unstored = isRefusal(decision) && decision.check === 'missing' ? asserted() : undefined
    if (unstored) return decideAboutAsserted(pep, asked, unstored)
    const granted = isRefusal(decision) ? decision : grantedBy(pep, decision, target, evaluation)
    return onceKnown(unlessCreateRefused(pep, { decision, granted }, asked), (result) => {
      if (isRefusal(result)) return refusedBy(result)
      const judged = judge(pep, result, { resource: target.resource, asked: fieldsAsked(evaluation) })
      return subject.isAsserted && judged.decision ? unlessLacking(pep, asked, judged) : judged
    })
  })
}

interface GrantedSoFar {
  readonly decision: Decision | Refusal
  readonly granted: GrantedFields | Refusal | Promise<GrantedFields | Refusal>
}

/** A command also needs the right to what it creates. */
function unlessCreateRefused(
  pep: Evaluating,
  { decision, granted }: GrantedSoFar,
  asked: AskedEvaluation,
): GrantedSoFar['granted'] {
  const { command } = asked.target.route
  if (!command || command.creates.length === 0 || decision.kind !== 'update') return granted
  return onceKnown(granted, async (result) => {
    if (isRefusal(result)) return result
    const by = requestOfCommand(pep, asked.evaluation)
    const { after } = proposeCommand(asked.target.resource, command, { ...by, before: represent(decision.object) })
    const run = { ...by, command, after, newId: uuidv7 }
    const found = await pep.ask(permitCreates(questionOf(pep, asked), pep.policy.snapshot, run))
    if (!('refusal' in found)) return result
    const { refusal } = found
    // Without the input, the new object may lack fields.
    const isOfBody = asked.evaluation.action.properties?.body === undefined && refusal.check === 'schema'
    return isOfBody ? result : { ...refusal, evidence: result.evidence }
  })
}

function requestOfCommand({ now }: Deciding, { action, subject }: AskedAbout) {
  return { body: action.properties?.body ?? {}, callerId: subject.id, time: textOfTime(new Date(now)) }
}

/** An attribute that the service didn't assert of the subject may be what a deny asks for. */
function unlessLacking(pep: Evaluating, asked: AskedEvaluation, judged: JudgedCase): JudgedCase | Promise<JudgedCase> {
  const { action, resource } = asked.evaluation
  const isChange = action.properties?.body !== undefined
  const given = new Set(Object.keys(resource.properties ?? {}))
  const lacks = pep.ask(lacksAttributes(questionOf(pep, asked), pep.policy.snapshot, { isChange, given }))
  return onceKnown(lacks, (unsure) =>
    unsure ? { decision: false, reason: 'attributes-missing', evidence: judged.evidence } : judged,
  )
}

/** Stored objects win; this one isn't stored. */
function decideAboutAsserted(
  pep: Evaluating,
  asked: AskedEvaluation,
  asserted: AssertedObject,
): JudgedCase | Promise<JudgedCase> {
  const decision = pep.ask(decideWithUnknowns(questionOf(pep, asked), pep.policy.snapshot, asserted))
  return onceKnown(decision, (found) => (isRefusal(found) ? refusedBy(found) : judgePartly(pep, asked, found)))
}

function judgePartly(
  pep: Evaluating,
  asked: AskedEvaluation,
  { fields, possible, evidence }: PartialDecision,
): JudgedCase {
  const { target, evaluation } = asked
  const { resource, endpoint } = target
  if (fields.size === 0) return { decision: false, reason: 'attributes-missing', evidence }
  const hasFields = resource.actions.get(endpoint.action)?.hasFields
  const concerned = endpoint.operation === 'read' ? shownBy(pep, target) : new Set(resource.fields.keys())
  const all = hasFields ? concerned : new Set<string>()
  const wanted = fieldsAsked(evaluation)
  const granted = { kind: 'granted', fields: hasFields ? fields : all, all, evidence } as const
  const judged = judge(pep, granted, { resource, asked: wanted })
  const depends = !judged.decision && new Set(wanted ?? all).isSubsetOf(possible)
  return depends ? { ...judged, reason: 'attributes-missing' } : judged
}

export function questionOf(
  { policy, now }: Deciding,
  { target, subject: { caller }, evaluation, holding }: AskedTarget,
): Question {
  const subject = policy.snapshot.subjectOf(caller)
  const blocked = isBlocked(policy.blocked, caller.id, now)
  return { ...target, subject, blocked, id: evaluation.resource.id, now, holding }
}

function refusedBy(refusal: Refusal): JudgedCase {
  return { decision: false, reason: denialReasonOf(refusal), evidence: refusal.evidence }
}

/** True only if every field is granted; a service that heeds fields gets a part of them instead of a refusal. */
function judge(
  { trust: { understandsFields } }: Evaluating,
  { fields, all, evidence, dependsOnBody }: GrantedFields,
  { resource, asked }: { readonly resource: Resource; readonly asked: readonly string[] | undefined },
): JudgedCase {
  const wanted = asked ?? [...all]
  const refused = wanted.filter((name) => !fields.has(name))
  const shown = understandsFields && asked === undefined && all.size > 0 ? { fields: [...fields] } : {}
  if (refused.length === 0 || ('fields' in shown && fields.size > 0)) return { decision: true, evidence, ...shown }
  if (dependsOnBody) return { decision: false, reason: 'body-needed', evidence }
  const fieldsRefused = refused.filter((name) => resource.fields.has(name)).slice(0, MOST_TOLD)
  const reason = asked || fields.size === 0 ? 'fields-refused' : 'partly-granted'
  return { decision: false, reason, evidence: { ...evidence, fieldsRefused } }
}

/** In a decision record. Names that the schema doesn't declare are left out: a service could fill the log with them. */
const MOST_TOLD = 100

type AskedAbout = Pick<Evaluation, 'subject' | 'action' | 'resource' | 'context'>

export interface GrantedFields {
  readonly kind: 'granted'
  readonly fields: FieldNames
  /** All fields that the action concerns; empty for an action on the whole object, and for a change that is given. */
  readonly all: FieldNames
  readonly evidence: Evidence
  /** Other values than the stored ones could be granted more. */
  readonly dependsOnBody?: boolean
}

/** The fields that a decision about one object grants; the route's view bounds those of a read. */
export function fieldsGranted(
  pep: Deciding,
  decision: Decision,
  target: AskedRoute,
  evaluation: AskedAbout,
): GrantedFields | Refusal | Promise<GrantedFields | Refusal> {
  const { resource } = target
  const { evidence } = decision
  switch (decision.kind) {
    case 'read':
      return { kind: 'granted', fields: decision.shown, all: shownBy(pep, target), evidence }
    case 'delete':
      return { kind: 'granted', fields: allOf(resource), all: NO_FIELDS, evidence }
    case 'create':
      return grantedToCreate(pep, decision, resource, evaluation)
    case 'update':
      return target.route.command
        ? grantedToRun(pep, decision, target, evaluation)
        : grantedToUpdate(pep, decision, target, evaluation)
    default:
      throw new Error(`an evaluation is about one object, but the decision is of the kind ${decision.kind}`)
  }
}

/** The fields that an action on rows concerns; empty for an action on the whole object. */
export function fieldsConcerned(pep: Deciding, target: AskedRoute): FieldNames {
  const { resource, endpoint } = target
  if (!resource.actions.get(endpoint.action)?.hasFields) return NO_FIELDS
  if (resource.external) return allOf(resource)
  return endpoint.operation === 'read' ? shownBy(pep, target) : writableOf(resource)
}

/** Those of the route's view. */
function shownBy({ policy }: Pick<Deciding, 'policy'>, { resource, route: { view } }: AskedRoute): FieldNames {
  return view === undefined ? allOf(resource) : policy.snapshot.viewOf(resource.name, view)
}

/** The new object has the properties of the resource. Without any, only the policy is asked, about each field. */
async function grantedToCreate(
  pep: Deciding,
  decision: CreateDecision,
  resource: Resource,
  evaluation: AskedAbout,
): Promise<GrantedFields | Refusal> {
  const { properties } = evaluation.resource
  const all = writableOf(resource)
  const now = new Date(pep.now).toISOString()
  const proposal = proposeNew(resource, properties ?? {}, { id: uuidv7(), filled: decision.filled, now })
  const asked = fieldsAsked(evaluation) ?? (properties ? [] : all)
  const named = proposal.named.union(new Set(asked))
  const faults = properties ? proposal.faults : () => []
  const permitted = await pep.ask(decision.permit({ ...proposal, named, faults }))
  if (!isRefusal(permitted)) return { kind: 'granted', fields: all, all, evidence: permitted.evidence }
  const { check, evidence } = permitted
  if (properties || check !== 'write' || !evidence) return permitted
  return { kind: 'granted', fields: all.difference(new Set(evidence.fieldsRefused)), all, evidence }
}

/** With a body: whether the route would take it. Without one: the fields that could be written. */
async function grantedToUpdate(
  pep: Deciding,
  decision: UpdateDecision,
  { resource, endpoint }: AskedRoute,
  { action }: AskedAbout,
): Promise<GrantedFields | Refusal> {
  const all = writableOf(resource)
  const body = action.properties?.body
  if (!body) {
    const fields = all.intersection(await pep.ask(decision.writableAsIs()))
    const dependsOnBody = all.intersection(decision.writable).size > fields.size
    return { kind: 'granted', fields, all, evidence: decision.evidence, dependsOnBody }
  }
  const permitted = await pep.ask(decision.permit(proposalOf(decision, resource, endpoint.operation, body)))
  if (isRefusal(permitted)) return permitted
  return { kind: 'granted', fields: all.intersection(decision.writable), all: NO_FIELDS, evidence: permitted.evidence }
}

/** What the POST would do. Without a body, it is asked without the fields that the input would set. */
async function grantedToRun(
  pep: Deciding,
  decision: UpdateDecision,
  { resource, route: { command } }: AskedRoute,
  evaluation: AskedAbout,
): Promise<GrantedFields | Refusal> {
  if (!command) throw new Error('a command is asked about')
  const by = { ...requestOfCommand(pep, evaluation), before: represent(decision.object) }
  const proposal = proposeCommand(resource, command, by)
  const faults = evaluation.action.properties?.body ? proposal.faults : () => []
  const permitted = await pep.ask(decision.permit({ ...proposal, faults }))
  if (isRefusal(permitted)) return permitted
  const fields = writableOf(resource).intersection(decision.writable)
  return { kind: 'granted', fields, all: NO_FIELDS, evidence: permitted.evidence }
}

function proposalOf(decision: UpdateDecision, resource: Resource, operation: string, body: Members) {
  const { object, writable, readable, filled } = decision
  const before = represent(object)
  if (operation !== 'replace') return proposeUpdate(resource, body, before)
  return proposeReplacement(resource, body, { before, writable, readable, filled })
}

const NO_FIELDS: FieldNames = new Set()

/** Made once for each resource: most questions need them. */
const ALL = new WeakMap<Resource, FieldNames>()

function allOf(resource: Resource): FieldNames {
  return ALL.getOrInsertComputed(resource, ({ fields }) => new Set(fields.keys()))
}

export function writableOf({ fields }: Resource): FieldNames {
  return new Set([...fields.values()].flatMap(({ name, readOnly }) => (readOnly ? [] : [name])))
}
