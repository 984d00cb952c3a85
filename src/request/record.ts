/** One decision record for every request: who asked what, what was decided, by which lines of which revision. */
import type { Logger } from 'pino'
import type { DecisionRecord } from '../decision-log/decision-record.ts'
import type { Authentication } from '../identity/caller.ts'
import type { Decision } from '../policy/decision.ts'
import { Denied } from '../policy/ground.ts'
import type { Problem } from '../problems/problem.ts'
import type { Outcome } from '../routes/outcome.ts'
import type { Evidence } from '../store/permit.ts'
import type { Match } from './match-route.ts'
import type { Metrics } from './metrics.ts'

/** What the stages found out, as far as they came. Only the pipeline writes it. */
export interface Exchange {
  readonly requestId: string
  /** When the request came: RFC 3339, UTC, milliseconds. */
  time?: string
  readonly method: string
  readonly revision: string
  address?: string
  match?: Match
  authentication?: Authentication
  decision?: Decision
  outcome?: Outcome
  problem?: Problem
}

/** `seconds` is how long the request took. */
export function record({ log, metrics }: { log: Logger; metrics: Metrics }, exchange: Exchange, seconds: number): void {
  const { problem, match } = exchange
  const written = recordOf(exchange, seconds)
  const { status } = written
  const route = match && 'route' in match ? match.route : undefined
  metrics.observeRequest({ method: exchange.method, route: route?.path ?? 'unknown', status, seconds })
  // pino's own time stands in the line already.
  const { time, ...line } = written
  if (status >= 500) log.error({ record: 'decision', ...line, err: problem?.cause }, 'request failed')
  else log.info({ record: 'decision', ...line }, 'decision')
}

/** `seconds` is how long the request took so far. */
export function recordOf(exchange: Exchange, seconds: number): DecisionRecord {
  const { requestId, revision, method, address, match, authentication, decision, outcome, problem } = exchange
  const caller = authentication?.kind === 'caller' ? authentication.caller : undefined
  const asked = match?.kind === 'route' ? match : undefined
  const evidence = evidenceOf(exchange)
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
    objectId: outcome?.objectId ?? asked?.id ?? objectIdOf(decision),
    subject: caller?.id,
    roles: caller?.roles,
    authentication: authentication?.kind,
    // Why a credential was refused; never any part of it (test/identity).
    reason: authentication?.kind === 'rejected' ? authentication.reason : undefined,
    outcome: problem ? (problem.status < 500 ? 'refused' : 'failed') : 'allowed',
    problem: problem?.code,
    relations: evidence?.relations,
    rules: evidence?.lines.map((line) => `policy.csv:${line}`),
    fieldsRefused: evidence?.fieldsRefused.length ? evidence.fieldsRefused : undefined,
    facts: evidence?.facts,
    status: problem?.status ?? outcome?.status ?? 500,
    microseconds: Math.round(seconds * 1e6),
  }
}

function evidenceOf({ problem, outcome, decision }: Exchange): Evidence | undefined {
  if (problem?.cause instanceof Denied) return problem.cause.evidence
  return outcome?.evidence ?? decision?.evidence
}

function objectIdOf(decision: Decision | undefined): string | undefined {
  return decision && 'object' in decision ? decision.object.id : undefined
}
