/**
 * Records a request: its decision record, its metrics with the status that the client or gateway gets, and the cause of
 * a fault. A write commits together with its record, so neither exists without the other.
 */
import { credentialKindOf, grantNumbers } from '../../decide/caller.ts'
import type { Decision } from '../../decide/decision.ts'
import { type Evidence, rulePlace } from '../../decide/evidence.ts'
import { Refused } from '../../decide/refusal.ts'
import { cutName, type DecisionRecord } from '../../decision-log/decision-record.ts'
import { mask } from '../../decision-log/mask.ts'
import { recordLine } from '../../decision-log/record-line.ts'
import type { Recorder } from '../../decision-log/recorder.ts'
import type { Gateway } from '../../resources/resource.ts'
import type { Store, WriteOptions } from '../../store/contract.ts'
import type { FaultLog } from '../observe/fault-log.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { Outcome, RequestEnd, Writes } from '../routes/handler.ts'
import { SignInRefused } from '../routes/tokens.ts'
import type { RequestState, Writable } from '../stages/state.ts'
import { problemOf } from './to-problem.ts'

/** What the stages that ran found out about a request: a part of `ctx.state`. */
export type RequestFacts = Omit<RequestState, keyof NotRecorded>

type NotRecorded = Pick<RequestState, 'headers' | 'body'>

/**
 * Writes the record before the answer is sent; the record of a write is already committed with the write. If a required
 * record can't be written, the answer becomes a refusal.
 */
export function settleRecord(
  { recorder }: { readonly recorder: Recorder },
  state: Writable<RequestState>,
): void | Promise<void> {
  if (state.committed) {
    recorder.committed(state.committed.unmasked, state.committed.line, state.masks)
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
  const { requestId, traceId, span, method, problem, match, forwarded, started } = request
  // Requests of gateways are counted apart: they cost less than those of clients.
  const route = forwarded?.route ?? (match && 'route' in match ? match.route.path : 'unknown')
  const status = answeredStatus(request)
  metrics.observeRequest({ method, route, status, seconds: (performance.now() - started) / 1000, span })
  if (status < 500) return
  faults.note(
    { requestId, traceId, method, route, status, problem: problem?.code, err: problem?.cause },
    'request failed',
  )
}

interface EndOfRequest extends Pick<RequestState, 'problem' | 'outcome'> {
  readonly forwarded: RequestState['forwarded'] | undefined
}

export function answeredStatus({ problem, outcome, forwarded }: Partial<EndOfRequest>): number {
  if (!problem) return outcome?.status ?? 500
  return forwarded ? statusForGateway(forwarded.profile, problem.status) : problem.status
}

/** `status`: of a problem. A gateway that knows only 401 and 403 would call another refusal a fault of the server. */
export function statusForGateway({ passesOn }: Gateway, status: number): number {
  return passesOn === 'every status' || status >= 500 || status === 401 ? status : 403
}

export function recordOf(request: RequestFacts): DecisionRecord {
  const { requestId, instance, revision, address, match, authentication, forwarded, outcome, problem } = request
  const asked = match?.kind === 'route' ? match : undefined
  const decision = request.again ? request.again.decision : request.decision
  const evidence = evidenceOf(request, decision)
  const refusedSignIn = problem?.cause instanceof SignInRefused ? problem.cause : undefined
  const rejected = authentication?.kind === 'rejected' ? authentication : undefined
  return {
    // Only a failed clock leaves no time.
    time: request.time ?? new Date().toISOString(),
    requestId,
    traceId: request.traceId,
    batch: request.batch,
    instance,
    revision,
    // What a gateway asks about is recorded as its client's request.
    method: forwarded?.method ?? request.method,
    forwarded: forwarded && { profile: forwarded.profile.name, gateway: forwarded.gateway },
    address,
    route: asked?.route.path,
    resource: asked?.route.resource,
    action: asked?.endpoint.action,
    objectId: outcome?.objectId ?? objectIdOf(asked?.id, decision) ?? refusedSignIn?.userId,
    ...whoOf(request),
    // Why a credential or a sign-in was refused; no part of the credential itself (test/identity).
    reason: rejected?.reason ?? refusedSignIn?.reason,
    outcome: problem ? (problem.status < 500 ? 'refused' : 'failed') : 'allowed',
    problem: problem?.code,
    relations: evidence?.relations,
    rules: evidence?.lines.map(rulePlace),
    fieldsRefused: evidence?.fieldsRefused.length ? evidence.fieldsRefused : undefined,
    ...askedBeside(request),
    facts: evidence?.facts,
    along: outcome?.along?.told,
    expanded: outcome?.expanded,
    asked: outcome?.asked,
    searched: outcome?.searched,
    status: answeredStatus(request),
    microseconds: Math.round((performance.now() - request.started) * 1e3),
  }
}

function askedBeside({ input, match }: RequestFacts): Pick<DecisionRecord, 'can' | 'parent' | 'aggregate'> {
  const asked = input?.kind === 'list' ? input.query : input?.kind === 'item' ? input : undefined
  const aggregate = input?.kind === 'list' ? input.query.aggregates?.asked.map(({ name }) => name) : undefined
  const beside = { can: asked?.can || undefined, aggregate }
  const parent = match?.kind === 'route' ? match.route.parent : undefined
  if (!parent || match?.kind !== 'route') return beside
  return { ...beside, parent: { resource: parent.resource, objectId: cutName(match.parentId ?? '') } }
}

/** An API key proves no sign-in. */
function whoOf({ authentication, policy }: RequestFacts) {
  if (authentication?.kind !== 'caller') {
    const { subject, credential } = authentication?.kind === 'rejected' ? authentication : NOBODY
    return { subject, authentication: authentication?.kind, credential }
  }
  const { caller } = authentication
  const { authTime, acr } = caller
  const at = authTime === undefined ? undefined : new Date(authTime).toISOString()
  return {
    subject: caller.id,
    roles: caller.roles,
    rolesLost: policy.snapshot.rolesLostBy(caller),
    ...(caller.granted && grantNumbers(caller.granted)),
    authentication: authentication.kind,
    credential: caller.credential,
    signedIn: credentialKindOf(caller) === 'api-key' ? undefined : { at, acr },
  }
}

const NOBODY: { readonly subject?: string; readonly credential?: string } = {}

function evidenceOf({ problem, outcome }: RequestFacts, decision: Decision | undefined): Evidence | undefined {
  const refusal = problem?.cause instanceof Refused ? problem.cause.refusal : undefined
  return refusal?.evidence ?? outcome?.evidence ?? decision?.evidence
}

/** The id in the path, whole only if it is the id of an object: a path may have 8 kB. Without one, the object's. */
function objectIdOf(asked: string | undefined, decision: Decision | undefined): string | undefined {
  const stored = decision && 'object' in decision ? decision.object.id : undefined
  return asked === undefined || asked === stored ? stored : cutName(asked)
}

/** Each write commits together with the record that says how it ended. */
export function createWrites(store: Store, state: Writable<RequestState>): Writes {
  const made = new Map<string, DecisionRecord>()
  const make = (end: RequestEnd) => {
    const unmasked = recordOf({ ...state, ...end })
    const masked = mask(unmasked, state.masks)
    const line = recordLine(masked)
    return { line, masked, unmasked }
  }
  const commit = async (outcome: Outcome, write: (recorded: WriteOptions) => Promise<unknown>) => {
    const { line, masked, unmasked } = make({ outcome })
    // The log of changes tells nothing of a write that the decision log doesn't.
    const { subject, requestId, action, revision, rules } = masked
    await write({ record: line, by: { subject, requestId, action, revision, rules } })
    state.committed = { line, unmasked }
    return outcome
  }
  return {
    create: (permit, outcome, { time, replay }) =>
      commit(outcome, (recorded) => store.create(permit, { ...recorded, time, replay })),
    update: (permit, outcome, { time, replay }) =>
      commit(outcome, (recorded) => store.update(permit, { ...recorded, time, replay, along: outcome.along?.permits })),
    delete: (permit, outcome) =>
      commit(outcome, (recorded) => store.delete(permit, { ...recorded, along: outcome.along?.permits ?? [] })),
    record: (end) => {
      const { line, unmasked } = make(end)
      made.set(line, unmasked)
      return line
    },
    committed: (line) => {
      const unmasked = made.get(line)
      if (unmasked) state.committed = { line, unmasked }
    },
  }
}
