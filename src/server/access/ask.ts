/** One evaluation is one decision of the gate (src/decide/decide.ts), about a subject that the asking service names. */
import type { Caller } from '../../decide/caller.ts'
import { decide, type Question } from '../../decide/decide.ts'
import type { Evidence } from '../../decide/evidence.ts'
import { isRefusal } from '../../decide/refusal.ts'
import { isBlocked } from '../../policy/parse/parse-blocked.ts'
import type { Asker } from './asker.ts'
import { type DenialReason, denialReasonOf } from './denial-reasons.ts'
import { type Evaluation, fieldsAsked } from './entities.ts'
import { fieldsGranted, type GrantedFields } from './granted.ts'
import { type AskedRoute, routeAsked } from './route-asked.ts'
import { subjectOf } from './subject.ts'

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

/** Throws what the store throws. */
export async function evaluate(asker: Asker, evaluation: Evaluation): Promise<Evaluated> {
  const { subject, resource, action } = evaluation
  const target = routeAsked(asker.resources, resource.type, action.name)
  if ('reason' in target) return { decision: false, reason: target.reason }
  const found = await subjectOf(asker, subject)
  if ('reason' in found) return { decision: false, reason: found.reason }
  const { caller } = found
  return { caller, action: target.endpoint.action, ...(await decideAbout(asker, target, caller, evaluation)) }
}

async function decideAbout(
  asker: Asker,
  target: AskedRoute,
  caller: Caller,
  evaluation: Evaluation,
): Promise<Omit<Evaluated, 'caller' | 'action'>> {
  const { id } = evaluation.resource
  // Such a route shows the caller's own record, whatever the request names.
  if (target.route.kind === 'caller' && id !== caller.id) return { decision: false, reason: 'object-missing' }
  const decision = await asker.ask(decide(questionOf(asker, target, caller, id), asker.policy.snapshot))
  const result = isRefusal(decision) ? decision : await fieldsGranted(asker, decision, target, evaluation)
  if (isRefusal(result)) return { decision: false, reason: denialReasonOf(result), evidence: result.evidence }
  return judge(asker, result, fieldsAsked(evaluation))
}

function questionOf({ policy, now }: Asker, target: AskedRoute, caller: Caller, id: string): Question {
  const subject = policy.snapshot.subjectOf(caller)
  return { ...target, subject, blocked: isBlocked(policy.blocked, caller.id, now), id, now }
}

/** True only if every field is granted; a service that heeds fields gets a part of them instead of a refusal. */
function judge(
  { understandsFields }: Asker,
  { fields, all, evidence, dependsOnBody }: GrantedFields,
  asked: readonly string[] | undefined,
): Omit<Evaluated, 'caller' | 'action'> {
  const wanted = asked ?? [...all]
  const refused = wanted.filter((name) => !fields.has(name))
  const told = understandsFields && asked === undefined && all.size > 0 ? { fields: [...fields] } : {}
  if (refused.length === 0 || ('fields' in told && fields.size > 0)) return { decision: true, evidence, ...told }
  if (dependsOnBody) return { decision: false, reason: 'body-needed', evidence }
  const fieldsRefused = refused.slice(0, MOST_TOLD)
  const reason = asked || fields.size === 0 ? 'fields-refused' : 'partly-granted'
  return { decision: false, reason, evidence: { ...evidence, fieldsRefused } }
}

/** In a decision record. */
const MOST_TOLD = 100
