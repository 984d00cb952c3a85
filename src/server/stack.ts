/** The path of one request, in order. Every stage is a function in a file of its own; this is the list of them. */
import { randomUUID } from 'node:crypto'
import type { Context, Middleware } from 'koa'
import { Problem } from '../base/problems/problem.ts'
import { ownerFieldOf } from '../decide/relations/ownership.ts'
import type { Recorder } from '../decision-log/recorder.ts'
import type { TokenVerifier } from '../identity/caller.ts'
import { readCredentials } from '../identity/read-credentials.ts'
import type { ActivePolicy, LivePolicy } from '../policy/live-policy.ts'
import type { Resource, Route } from '../resources/resource.ts'
import type { RouteMatcher } from '../resources/routing/match-route.ts'
import { readTarget } from '../resources/routing/request-target.ts'
import { StaleObject, type Store } from '../store/contract.ts'
import type { ClientAddress } from './http/client-address.ts'
import { createEndOfTurn } from './http/end-of-turn.ts'
import { findMalformed } from './http/find-malformed.ts'
import { Turns } from './http/turns.ts'
import type { FaultLog } from './observe/fault-log.ts'
import type { Metrics } from './observe/metrics.ts'
import { handle, type Input } from './routes/handle.ts'
import type { Outcome } from './routes/outcome.ts'
import type { Asking, Services } from './routes/services.ts'
import { assignRoles } from './stages/assign-roles.ts'
import { authenticate } from './stages/authenticate.ts'
import { authorize, type Gate } from './stages/authorize.ts'
import { createWrites } from './stages/commit.ts'
import type { Cors } from './stages/cors.ts'
import type { RateLimiter } from './stages/limit-rate.ts'
import { present, type ResponseHeaders } from './stages/present.ts'
import { problemOf } from './stages/problem-boundary.ts'
import { type Exchange, observe, settle } from './stages/record.ts'
import { type Asked, refuseUnanswerable } from './stages/refuse-unanswerable.ts'
import { validate } from './stages/validate.ts'
import { refuseGone } from './stages/version.ts'

export interface Parts {
  readonly gate: Gate
  readonly store: Store
  readonly services: Services
  readonly policy: Pick<LivePolicy, 'active' | 'at'>
  readonly verifier: TokenVerifier
  readonly rateLimiter: RateLimiter
  readonly matchRoute: RouteMatcher
  readonly clientAddress: ClientAddress
  readonly cors: Cors
  readonly recorder: Recorder
  readonly faults: FaultLog
  readonly metrics: Metrics
  readonly draining: () => boolean
}

/** How often a write is decided anew when the object changed between the decision and the write. */
const ATTEMPTS = 8

export function createPipeline(parts: Parts): Middleware {
  const endOfTurn = createEndOfTurn()
  const turns = new Turns()
  return async (ctx) => {
    const started = performance.now()
    const { revision, snapshot } = parts.policy.active
    const exchange: Exchange = {
      requestId: randomUUID(),
      started,
      method: ctx.method,
      revision,
      masks: snapshot.masks,
    }
    const headers: ResponseHeaders = {
      'Policy-Revision': revision,
      Vary: 'Authorization, Accept',
      'Cache-Control': 'private, no-cache',
    }
    parts.cors.share(ctx.req, headers)
    try {
      // The time that the record tells is the one that the rules are chosen by.
      const time = parts.gate.now()
      exchange.time = new Date(time).toISOString()
      exchange.outcome = await answer(parts, parts.policy.at(time), { ctx, exchange, headers, turns })
    } catch (error) {
      const { authentication } = exchange
      exchange.problem = problemOf(error, authentication?.kind === 'caller' ? authentication.caller : undefined)
    }
    const settled = settle(parts, exchange)
    if (settled) await settled
    await endOfTurn()
    // Else the connection would stay open, and the drain would wait for it.
    if (parts.draining()) headers.Connection = 'close'
    present(ctx, exchange, headers, parts.cors)
    observe(parts, exchange)
  }
}

interface Answering {
  readonly ctx: Context
  readonly exchange: Exchange
  /** Those that every answer has, also the refusal of a later stage. */
  readonly headers: ResponseHeaders
  /** Of writes that others came before. */
  readonly turns: Turns
}

async function answer(parts: Parts, policy: ActivePolicy, answering: Answering): Promise<Outcome> {
  const { ctx, exchange, headers, turns } = answering
  refuseDraining(parts)
  exchange.match = parts.matchRoute(ctx.method, findMalformed(ctx.req) ?? readTarget(ctx.req.url ?? ''))
  // Also when the rate limits answer in its place, the connection of a request without clear bounds ends.
  if (exchange.match.kind === 'malformed') Object.assign(headers, exchange.match.problem.headers)
  exchange.address = parts.clientAddress(ctx.req)
  const credentials = readCredentials(ctx.req.rawHeaders)
  parts.rateLimiter.refuseKnownOver(policy, exchange.address, credentials)
  const authentication = assignRoles(policy.snapshot, await authenticate(parts.verifier, credentials))
  exchange.authentication = authentication
  const { address, match } = exchange
  Object.assign(headers, await parts.rateLimiter.limitRate(policy, { address, authentication, match }))
  const asked = refuseUnanswerable(match, authentication)
  refuseGone(asked.match, parts.services.now().getTime())
  return decideAndHandle(parts, { policy, ctx, exchange, turns, asked })
}

interface Answerable extends Omit<Answering, 'headers'> {
  readonly policy: ActivePolicy
  readonly asked: Asked
}

/** Authorize, validate, handle; once more, and in turn, when another write came between the decision and this one. */
async function decideAndHandle(parts: Parts, answerable: Answerable): Promise<Outcome> {
  const { policy, ctx, exchange, turns, asked } = answerable
  const { match } = asked
  const resource = resourceOf(parts, match.route)
  const decision = await authorize(parts.gate, policy, asked)
  exchange.decision = decision
  const input = await validate(ctx, { match, resource, limits: policy.snapshot.limits }, decision)
  try {
    return await handle(parts.services, askingOf(parts, answerable, input), decision, input)
  } catch (error) {
    if (!(error instanceof StaleObject)) throw error
  }
  const object = 'object' in decision ? decision.object.id : ''
  return turns.take(`${resource.name}/${object}`, () => decideAnew(parts, answerable, input))
}

/** Within this process nobody comes before a write in its turn; another process may. */
async function decideAnew(parts: Parts, answerable: Answerable, input: Input): Promise<Outcome> {
  const { policy, exchange, asked } = answerable
  for (let attempt = 2; ; attempt++) {
    exchange.decision = await authorize(parts.gate, policy, asked)
    try {
      return await handle(parts.services, askingOf(parts, answerable, input), exchange.decision, input)
    } catch (error) {
      if (!(error instanceof StaleObject) || attempt === ATTEMPTS) throw error
    }
  }
}

function resourceOf({ gate }: Parts, { resource: name }: Route): Resource {
  const resource = gate.resources.byName.get(name)
  if (!resource) throw new Error(`no schema declares ${name}`)
  return resource
}

function askingOf(
  parts: Parts,
  { policy, ctx, exchange, asked }: Answerable,
  { preconditions, idempotencyKey }: Input,
): Asking {
  const { match, caller } = asked
  const { route, endpoint, target } = match
  const resource = resourceOf(parts, route)
  const owner = ownerFieldOf(resource, policy.snapshot.ownershipOf(resource.name))
  return {
    method: ctx.method as Asking['method'],
    route,
    endpoint,
    resource,
    caller,
    address: exchange.address ?? '',
    owner: owner && { name: owner.name, list: owner.list },
    snapshot: policy.snapshot,
    path: target.path,
    query: target.query,
    writes: createWrites(parts.store, exchange),
    preconditions,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  }
}

/** Requests in flight end; what comes after them on a connection that is still open is refused. */
function refuseDraining({ draining }: Parts): void {
  if (!draining()) return
  throw new Problem('draining', 'The server is shutting down; try again.', { headers: { 'Retry-After': '1' } })
}
