/** What is written down of a request: its decision record, its metrics, and the cause of a fault. */

import type { Problem } from '../../base/problems/problem.ts'
import type { Decision } from '../../decide/decision.ts'
import { Denied } from '../../decide/ground.ts'
import type { Evidence } from '../../decide/permit.ts'
import type { Masks } from '../../decide/policy.ts'
import type { DecisionRecord } from '../../decision-log/decision-record.ts'
import type { Recorder } from '../../decision-log/recorder.ts'
import type { Authentication } from '../../identity/caller.ts'
import type { Match } from '../../resources/routing/match-route.ts'
import type { FaultLog } from '../observe/fault-log.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { Outcome } from '../routes/outcome.ts'
import { SignInRefused } from '../routes/tokens.ts'
import { problemOf } from './problem-boundary.ts'

/** What the stages found out, as far as they came. Only the pipeline writes it. */
export interface Exchange {
  readonly requestId: string
  /** `performance.now()` when the request came. */
  readonly started: number
  /** When the request came: RFC 3339, UTC, milliseconds. */
  time?: string
  readonly method: string
  readonly revision: string
  /** What the record doesn't hold, by the policy that decides. */
  readonly masks: Masks
  address?: string
  match?: Match
  authentication?: Authentication
  decision?: Decision
  outcome?: Outcome
  problem?: Problem
  /** The record that is in the store, together with the write that it is about. */
  committed?: DecisionRecord | undefined
}

/**
 * Sees to the record before the answer goes out; that of a write is committed with it already. An answer whose record is required
 * and can't be written becomes a refusal.
 */
export function settle({ recorder }: { readonly recorder: Recorder }, exchange: Exchange): void | Promise<void> {
  if (exchange.committed) {
    recorder.committed(exchange.committed)
    return
  }
  const noted = recorder.note(recordOf(exchange), exchange.masks)
  return noted?.catch((error: unknown) => {
    exchange.problem = problemOf(error, undefined)
  })
}

/** What operators see of a request: metrics, and the cause of a fault, which no client is told. */
export function observe({ faults, metrics }: { faults: FaultLog; metrics: Metrics }, exchange: Exchange): void {
  const { requestId, method, match, problem, outcome } = exchange
  const route = match && 'route' in match ? match.route.path : 'unknown'
  const status = problem?.status ?? outcome?.status ?? 500
  metrics.observeRequest({ method, route, status, seconds: secondsOf(exchange) })
  if (status < 500) return
  faults.note({ requestId, method, route, status, problem: problem?.code, err: problem?.cause }, 'request failed')
}

export function recordOf(exchange: Exchange): DecisionRecord {
  const { requestId, revision, method, address, match, authentication, decision, outcome, problem } = exchange
  const caller = authentication?.kind === 'caller' ? authentication.caller : undefined
  const asked = match?.kind === 'route' ? match : undefined
  const evidence = evidenceOf(exchange)
  const refusedSignIn = problem?.cause instanceof SignInRefused ? problem.cause : undefined
  return {
    // Without one, the clock itself has failed.
    time: exchange.time ?? new Date().toISOString(),
    requestId,
    revision,
    method,
    address,
    route: asked?.route.path,
    resource: asked?.route.resource,
    action: asked?.endpoint.action,
    objectId: outcome?.objectId ?? asked?.id ?? refusedSignIn?.userId ?? objectIdOf(decision),
    subject: caller?.id ?? (authentication?.kind === 'rejected' ? authentication.subject : undefined),
    roles: caller?.roles,
    authentication: authentication?.kind,
    credential: caller?.credential ?? (authentication?.kind === 'rejected' ? authentication.credential : undefined),
    // Why a credential was refused, or a sign-in; never any part of what was sent (test/identity).
    reason: authentication?.kind === 'rejected' ? authentication.reason : refusedSignIn?.reason,
    outcome: problem ? (problem.status < 500 ? 'refused' : 'failed') : 'allowed',
    problem: problem?.code,
    relations: evidence?.relations,
    rules: evidence?.lines.map((line) => `policy.csv:${line}`),
    fieldsRefused: evidence?.fieldsRefused.length ? evidence.fieldsRefused : undefined,
    facts: evidence?.facts,
    status: problem?.status ?? outcome?.status ?? 500,
    microseconds: Math.round(secondsOf(exchange) * 1e6),
  }
}

function secondsOf({ started }: Exchange): number {
  return (performance.now() - started) / 1000
}

function evidenceOf({ problem, outcome, decision }: Exchange): Evidence | undefined {
  if (problem?.cause instanceof Denied) return problem.cause.evidence
  return outcome?.evidence ?? decision?.evidence
}

function objectIdOf(decision: Decision | undefined): string | undefined {
  return decision && 'object' in decision ? decision.object.id : undefined
}
