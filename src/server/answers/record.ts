/**
 * Records a request: its decision record, its metrics, and the cause of a fault. A write commits together with its
 * record, so neither exists without the other.
 */
import type { Caller } from '../../decide/caller.ts'
import type { Decision } from '../../decide/decision.ts'
import { type Evidence, rulePlace } from '../../decide/evidence.ts'
import { Refused } from '../../decide/refusal.ts'
import { credentialKindOf } from '../../decide/request-conditions/credential.ts'
import { cutName, type DecisionRecord } from '../../decision-log/decision-record.ts'
import { mask } from '../../decision-log/mask.ts'
import { recordLine } from '../../decision-log/record-line.ts'
import type { Recorder } from '../../decision-log/recorder.ts'
import type { Store } from '../../store/contract.ts'
import type { FaultLog } from '../observe/fault-log.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { Outcome, RequestEnd, Writes } from '../routes/handler.ts'
import { SignInRefused } from '../routes/tokens.ts'
import type { RequestState, Writable } from '../stages/state.ts'
import { answeredStatus, problemOf } from './to-problem.ts'

/** What the stages that ran found out about a request: a part of `ctx.state`. */
export type RequestFacts = Omit<RequestState, keyof NotRecorded>

type NotRecorded = Pick<RequestState, 'headers' | 'policy' | 'body'>

/**
 * Writes the record before the answer is sent; the record of a write is already committed with the write. If a required
 * record can't be written, the answer becomes a refusal.
 */
export function settleRecord(
  { recorder }: { readonly recorder: Recorder },
  state: Writable<RequestState>,
): void | Promise<void> {
  if (state.committed) {
    recorder.committed(state.committed.unmasked, state.committed.line)
    return
  }
  const noted = recorder.note(recordOf(state), state.masks)
  return noted?.catch((error: unknown) => {
    state.problem = problemOf(error, undefined)
  })
}

/** What operators see of a request: metrics, and the cause of a fault. No client sees this cause. */
export function observe(
  { faults, metrics }: { faults: FaultLog; metrics: Pick<Metrics, 'observeRequest'> },
  request: RequestFacts,
): void {
  const { requestId, method, problem } = request
  const route = measuredRoute(request)
  const status = answeredStatus(request)
  metrics.observeRequest({ method, route, status, seconds: secondsOf(request) })
  if (status < 500) return
  faults.note({ requestId, method, route, status, problem: problem?.code, err: problem?.cause }, 'request failed')
}

/** Requests of gateways are counted apart: they cost less than those of clients. */
function measuredRoute({ match, forwarded }: RequestFacts): string {
  if (forwarded) return forwarded.route
  return match && 'route' in match ? match.route.path : 'unknown'
}

export function recordOf(request: RequestFacts): DecisionRecord {
  const { requestId, instance, revision, address, match, authentication, decision, outcome, problem } = request
  const asked = match?.kind === 'route' ? match : undefined
  const evidence = evidenceOf(request)
  const refusedSignIn = problem?.cause instanceof SignInRefused ? problem.cause : undefined
  const caller = authentication?.kind === 'caller' ? authentication.caller : undefined
  const rejected = authentication?.kind === 'rejected' ? authentication : undefined
  return {
    // Only a failed clock leaves no time.
    time: request.time ?? new Date().toISOString(),
    requestId,
    instance,
    revision,
    ...methodOf(request),
    address,
    route: asked?.route.path,
    resource: asked?.route.resource,
    action: asked?.endpoint.action,
    objectId: outcome?.objectId ?? askedId(request, asked?.id) ?? refusedSignIn?.userId ?? objectIdOf(decision),
    subject: caller?.id ?? rejected?.subject,
    roles: caller?.roles,
    authentication: authentication?.kind,
    credential: caller?.credential ?? rejected?.credential,
    signedIn: caller && signInOf(caller),
    // Why a credential or a sign-in was refused; no part of the credential itself (test/identity).
    reason: rejected?.reason ?? refusedSignIn?.reason,
    outcome: problem ? (problem.status < 500 ? 'refused' : 'failed') : 'allowed',
    problem: problem?.code,
    relations: evidence?.relations,
    rules: evidence?.lines.map(rulePlace),
    fieldsRefused: evidence?.fieldsRefused.length ? evidence.fieldsRefused : undefined,
    can: canOf(request),
    facts: evidence?.facts,
    asked: outcome?.asked,
    searched: outcome?.searched,
    status: answeredStatus(request),
    microseconds: Math.round(secondsOf(request) * 1e6),
  }
}

function canOf({ input }: RequestFacts): true | undefined {
  const asked = input?.kind === 'list' ? input.query.can : input?.kind === 'item' && input.can
  return asked || undefined
}

/** What a gateway asks about is recorded as its client's request. */
function methodOf({ method, forwarded }: RequestFacts): Pick<DecisionRecord, 'method' | 'forwarded'> {
  if (!forwarded) return { method }
  const { profile, gateway } = forwarded
  return { method: forwarded.method ?? method, forwarded: { profile: profile.name, gateway } }
}

/** An API key proves no sign-in. */
function signInOf(caller: Caller): DecisionRecord['signedIn'] {
  if (credentialKindOf(caller) === 'api-key') return undefined
  const { authTime, acr } = caller
  return { at: authTime === undefined ? undefined : new Date(authTime).toISOString(), acr }
}

function secondsOf({ started }: RequestFacts): number {
  return (performance.now() - started) / 1000
}

function evidenceOf({ problem, outcome, decision }: RequestFacts): Evidence | undefined {
  if (problem?.cause instanceof Refused && problem.cause.refusal.evidence) return problem.cause.refusal.evidence
  return outcome?.evidence ?? decision?.evidence
}

/** Whole only if it is the id of an object: a path may have 8 kB. */
function askedId({ decision }: RequestFacts, id: string | undefined): string | undefined {
  return id === undefined || id === objectIdOf(decision) ? id : cutName(id)
}

function objectIdOf(decision: Decision | undefined): string | undefined {
  return decision && 'object' in decision ? decision.object.id : undefined
}

export function createWrites(store: Store, state: Writable<RequestState>): Writes {
  /** A request makes few records, so a list is searched. */
  const made: { readonly line: string; readonly unmasked: DecisionRecord }[] = []
  const record = (end: RequestEnd) => {
    const unmasked = recordOf({ ...state, ...end })
    const line = recordLine(mask(unmasked, state.masks))
    made.push({ line, unmasked })
    return line
  }
  const committed = (line: string) => {
    state.committed = made.findLast((one) => one.line === line)
  }
  const recorded = async (outcome: Outcome, write: (line: string) => Promise<unknown>) => {
    const line = record({ outcome })
    await write(line)
    committed(line)
    return outcome
  }
  return {
    create: (permit, outcome, { time, replay }) =>
      recorded(outcome, (line) => store.create(permit, { time, record: line, replay })),
    update: (permit, outcome, { time }) => recorded(outcome, (line) => store.update(permit, { time, record: line })),
    delete: (permit, outcome) => recorded(outcome, (line) => store.delete(permit, { record: line })),
    record,
    committed,
  }
}
