/** One evaluation is one decision of the gate (src/decide/decide.ts), about a subject that the asking service names. */
import { onceKnown } from '../../base/now-or-later.ts'
import type { Caller } from '../../decide/caller.ts'
import { decide, type Question } from '../../decide/decide.ts'
import type { Evidence } from '../../decide/evidence.ts'
import { decideTold, lacksAttributes, type ToldDecision, type ToldObject } from '../../decide/grants/told-object.ts'
import { actionNamed } from '../../decide/grants/trust.ts'
import { isRefusal, type Refusal } from '../../decide/refusal.ts'
import { isBlocked } from '../../policy/parse/parse-blocked.ts'
import type { Resource } from '../../resources/resource.ts'
import type { Asker } from './asker.ts'
import { type DenialReason, denialReasonOf } from './denial-reasons.ts'
import { type Evaluation, fieldsAsked } from './entities.ts'
import { fieldsGranted, type GrantedFields, shownBy } from './granted.ts'
import { type AskedRoute, routeAsked } from './route-asked.ts'
import { subjectOf } from './subject.ts'
import type { KnownSubject } from './trust/known-subject.ts'
import { type Holding, inEveryCase, knownConditions } from './trust/told-conditions.ts'
import { toldObject } from './trust/told-object.ts'

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

type Judged = Omit<Evaluated, 'caller' | 'action'>

/** Throws what the store throws, and Problem invalid-body for what callers.yaml lets the service tell. */
export function evaluate(asker: Asker, evaluation: Evaluation): Evaluated | Promise<Evaluated> {
  const { subject, resource, action } = evaluation
  const target = routeAsked(asker.resources, resource.type, actionNamed(asker.trust, resource.type, action.name))
  if ('reason' in target) return { decision: false, reason: target.reason }
  return onceKnown(subjectOf(asker, subject), (found): Evaluated | Promise<Evaluated> => {
    if ('reason' in found) return { decision: false, reason: found.reason }
    return evaluateFor(asker, { target, subject: found, evaluation })
  })
}

function evaluateFor(asker: Asker, about: Omit<Asked, 'holding'>): Evaluated | Promise<Evaluated> {
  const { target, subject, evaluation } = about
  const known = knownConditions(asker, evaluation, subject)
  const judged = inEveryCase<Judged>(known, (holding) => decideAbout(asker, { ...about, holding }))
  return onceKnown(judged, (one) => ({ caller: subject.caller, action: target.endpoint.action, ...one }))
}

interface Asked extends AskedAbout {
  readonly evaluation: Evaluation
}

interface AskedAbout {
  readonly target: AskedRoute
  readonly subject: KnownSubject
  /** Without an id, the question is about all objects. */
  readonly evaluation: { readonly resource: { readonly id?: string } }
  readonly holding: Holding
}

function decideAbout(asker: Asker, asked: Asked): Judged | Promise<Judged> {
  const { target, subject, evaluation } = asked
  const { id } = evaluation.resource
  // Such a route shows the caller's own record, whatever the request names.
  if (target.route.kind === 'caller' && id !== subject.caller.id) return { decision: false, reason: 'object-missing' }
  const told = () => toldObject(asker, target.resource, evaluation, subject)
  const elsewhere = target.resource.external ? told() : undefined
  if (elsewhere) return decideAboutTold(asker, asked, elsewhere)
  return onceKnown(asker.ask(decide(questionOf(asker, asked), asker.policy.snapshot)), (decision) => {
    // Of a stored object, nothing that is told counts, nor is refused.
    const unstored = isRefusal(decision) && decision.check === 'missing' ? told() : undefined
    if (unstored) return decideAboutTold(asker, asked, unstored)
    const granted = isRefusal(decision) ? decision : fieldsGranted(asker, decision, target, evaluation)
    return onceKnown(granted, (result) => {
      if (isRefusal(result)) return refusedBy(result)
      const judged = judge(asker, result, { resource: target.resource, asked: fieldsAsked(evaluation) })
      return subject.isTold && judged.decision ? unlessLacking(asker, asked, judged) : judged
    })
  })
}

/** An attribute that the service didn't tell of the subject may be what a deny asks for. */
function unlessLacking(asker: Asker, asked: Asked, judged: Judged): Judged | Promise<Judged> {
  const { action, resource } = asked.evaluation
  const isChange = action.properties?.body !== undefined
  const given = new Set(Object.keys(resource.properties ?? {}))
  const lacks = asker.ask(lacksAttributes(questionOf(asker, asked), asker.policy.snapshot, { isChange, given }))
  return onceKnown(lacks, (unsure) =>
    unsure ? { decision: false, reason: 'attributes-missing', evidence: judged.evidence } : judged,
  )
}

/** Stored objects win; this one isn't stored. */
function decideAboutTold(asker: Asker, asked: Asked, told: ToldObject): Judged | Promise<Judged> {
  const decision = asker.ask(decideTold(questionOf(asker, asked), asker.policy.snapshot, told))
  return onceKnown(decision, (found) => (isRefusal(found) ? refusedBy(found) : judgeTold(asker, asked, found)))
}

function judgeTold(asker: Asker, asked: Asked, { fields, possible, evidence }: ToldDecision): Judged {
  const { target, evaluation } = asked
  const { resource, endpoint } = target
  if (fields.size === 0) return { decision: false, reason: 'attributes-missing', evidence }
  const hasFields = resource.actions.get(endpoint.action)?.hasFields
  const concerned = endpoint.operation === 'read' ? shownBy(asker, target) : new Set(resource.fields.keys())
  const all = hasFields ? concerned : new Set<string>()
  const wanted = fieldsAsked(evaluation)
  const granted = { kind: 'granted', fields: hasFields ? fields : all, all, evidence } as const
  const judged = judge(asker, granted, { resource, asked: wanted })
  const depends = !judged.decision && new Set(wanted ?? all).isSubsetOf(possible)
  return depends ? { ...judged, reason: 'attributes-missing' } : judged
}

export function questionOf(
  { policy, now }: Asker,
  { target, subject: { caller }, evaluation, holding }: AskedAbout,
): Question {
  const subject = policy.snapshot.subjectOf(caller)
  const blocked = isBlocked(policy.blocked, caller.id, now)
  return { ...target, subject, blocked, id: evaluation.resource.id, now, holding }
}

function refusedBy(refusal: Refusal): Judged {
  return { decision: false, reason: denialReasonOf(refusal), evidence: refusal.evidence }
}

/** True only if every field is granted; a service that heeds fields gets a part of them instead of a refusal. */
function judge(
  { trust: { understandsFields } }: Asker,
  { fields, all, evidence, dependsOnBody }: GrantedFields,
  { resource, asked }: { readonly resource: Resource; readonly asked: readonly string[] | undefined },
): Judged {
  const wanted = asked ?? [...all]
  const refused = wanted.filter((name) => !fields.has(name))
  const told = understandsFields && asked === undefined && all.size > 0 ? { fields: [...fields] } : {}
  if (refused.length === 0 || ('fields' in told && fields.size > 0)) return { decision: true, evidence, ...told }
  if (dependsOnBody) return { decision: false, reason: 'body-needed', evidence }
  const fieldsRefused = refused.filter((name) => resource.fields.has(name)).slice(0, MOST_TOLD)
  const reason = asked || fields.size === 0 ? 'fields-refused' : 'partly-granted'
  return { decision: false, reason, evidence: { ...evidence, fieldsRefused } }
}

/** In a decision record. Names that the schema doesn't declare aren't told: a service could fill the log with them. */
const MOST_TOLD = 100
