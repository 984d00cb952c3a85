/**
 * The problem boundary: the first stage to see a request and the last to see its answer. By then, the answer has its
 * record.
 */
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { textOfTime } from '../../base/instant.ts'
import { Problem } from '../../base/problems/problem.ts'
import type { Recorder } from '../../decision-log/recorder.ts'
import type { LivePolicy } from '../../policy/live-policy.ts'
import type { Cors } from '../answers/cors.ts'
import { echoRequestId } from '../answers/echo-request-id.ts'
import { bodyOfOutcome, present } from '../answers/present.ts'
import { observe, settleRecord } from '../answers/record.ts'
import { problemOf } from '../answers/to-problem.ts'
import { createEndOfTurn } from '../http/end-of-turn.ts'
import type { UnreadAnswers } from '../http/unread-answers.ts'
import type { FaultLog } from '../observe/fault-log.ts'
import type { Metrics } from '../observe/metrics.ts'
import { holderOf } from './refuse-unread.ts'
import type { Stage, Writable } from './stage.ts'
import type { Received, RequestState } from './state.ts'

export interface AnswerParts {
  readonly instance: string
  readonly policy: Pick<LivePolicy, 'active' | 'at'>
  readonly now: () => Date
  readonly cors: Cors
  readonly recorder: Recorder
  readonly faults: FaultLog
  readonly metrics: Pick<Metrics, 'observeRequest'>
  readonly unread: UnreadAnswers
  readonly draining: () => boolean
}

export function answer(parts: AnswerParts): Stage<object, Received> {
  const endOfTurn = createEndOfTurn()
  return async (ctx, next) => {
    const state: Writable<RequestState> = receive(parts, ctx.method)
    ctx.state = state
    echoRequestId(ctx.req, state.headers)
    parts.cors.share(ctx.req, state.headers)
    try {
      // The record shows the same time that selects the valid rules.
      const time = parts.now()
      state.time = textOfTime(time)
      state.at = time.getTime()
      state.policy = parts.policy.at(state.at)
      await next()
      holdAnswer(parts.unread, ctx.res, state)
    } catch (error) {
      const { authentication } = state
      state.problem = problemOf(error, authentication?.kind === 'caller' ? authentication.caller : undefined)
    }
    const settled = settleRecord(parts, state)
    if (settled) await settled
    await endOfTurn()
    // Otherwise the connection would stay open, and the shutdown would wait for it.
    if (parts.draining()) state.headers.Connection = 'close'
    present(ctx, state, parts)
    observe(parts, state)
  }
}

/**
 * A write is stored by now, so its answer is only counted. What the handler wrote isn't needed any more, and must not
 * wait for the record of the request: many pages that are refused in one turn would fill the memory.
 */
function holdAnswer(unread: UnreadAnswers, response: ServerResponse, state: Writable<RequestState>): void {
  const { outcome } = state
  if (outcome?.body === undefined) return
  const body = bodyOfOutcome(outcome)
  state.outcome = { ...outcome, body: undefined }
  if (state.committed) unread.keep(response, holderOf(state), body)
  else unread.hold(response, holderOf(state), body)
  state.body = body
}

function receive({ instance, policy: { active } }: AnswerParts, method: string): RequestState {
  return {
    requestId: randomUUID(),
    instance,
    started: performance.now(),
    at: Number.NaN,
    method,
    revision: active.revision,
    masks: active.snapshot.masks,
    headers: {
      'Policy-Revision': active.revision,
      ...(active.sequence === undefined ? {} : { 'Policy-Sequence': String(active.sequence) }),
      Vary: 'Authorization, Accept',
      'Cache-Control': 'private, no-cache',
    },
    policy: active,
  }
}

/** Requests in flight are completed. Later requests on a connection that is still open are refused. */
export function refuseWhileDraining(draining: () => boolean): Stage<Received> {
  return (_, next) => {
    if (!draining()) return next()
    throw new Problem('draining', 'The server is shutting down; try again.', { headers: { 'Retry-After': '1' } })
  }
}
