/** Checks the form of the rest of a request: Accept, query parameters, body and headers. */
import type { Context } from 'koa'
import { onceKnown } from '../../base/now-or-later.ts'
import { Problem } from '../../base/problems/problem.ts'
import type { Decision } from '../../decide/decision.ts'
import type { Limits } from '../../decide/policy.ts'
import type { Operation, Resource } from '../../resources/resource.ts'
import type { RouteMatch } from '../../resources/routing/match-route.ts'
import type { Content, Input } from '../input/input.ts'
import { readBody } from '../input/read-body.ts'
import { readIdempotencyKey, readPreconditions } from '../input/read-headers.ts'
import { readListQuery } from '../input/read-list-query.ts'
import { readItemQuery, readQuery, refuseParameters } from '../input/read-query.ts'
import { parseJsonPatch } from '../routes/json-patch/parse.ts'
import type { Stage } from './stage.ts'
import type { Accepted, Authorized, Forwarding, Received, Validated } from './state.ts'

interface Frame {
  readonly match: RouteMatch
  readonly resource: Resource
  readonly limits: Limits
}

const WITH_BODY: readonly Operation[] = ['create', 'replace', 'update']

/** The media type as sent. A client may require the parameter or leave it out. */
const REPRESENTATION = 'application/json;charset=utf-8'

/** Operations whose answers have no body, so nothing is negotiated. */
const BODILESS: readonly Operation[] = ['delete', 'options']

/**
 * Throws Problem not-acceptable, invalid-query, what read-body throws, invalid-patch, invalid-precondition, or
 * invalid-idempotency-key, in this order.
 */
export function validate(): Stage<Received & Accepted & Authorized & Forwarding, Validated> {
  return (ctx, next) => {
    const { accepted, resource, decision, policy, forwarded } = ctx.state
    if (forwarded) {
      // The rest of the request is for the application.
      ctx.state.input = { kind: 'nothing', preconditions: {} }
      return next()
    }
    const { match } = accepted
    if (!match.route.redirect) refuseUnacceptable(ctx, match.endpoint.operation)
    const frame = { match, resource, limits: policy.snapshot.limits }
    return onceKnown(readContent(ctx, frame, decision), (content) => {
      ctx.state.input = withHeaders(ctx, decision, content)
      return next()
    })
  }
}

/**
 * Content negotiation (RFC 9110 section 12.5.1): JSON is the only representation; a client that excludes it gets 406.
 * A header without a well-formed media range excludes it too.
 */
function refuseUnacceptable(ctx: Context, operation: Operation): void {
  const { accept } = ctx.req.headers
  // Most clients send one of these two, and both accept JSON.
  if (accept === undefined || accept === '*/*' || BODILESS.includes(operation)) return
  if (ctx.accepts(REPRESENTATION) !== false) return
  throw new Problem('not-acceptable', 'The header Accept excludes application/json; accept it.')
}

function withHeaders(ctx: Context, decision: Decision, content: Content): Input {
  // RFC 9110 section 13.2.1: preconditions concern one representation, so these decisions ignore them.
  if (decision.kind === 'route' || decision.kind === 'list') return { ...content, preconditions: {} }
  const preconditions = readPreconditions(ctx.req)
  // The other methods can be repeated safely without a key.
  const idempotencyKey = decision.kind === 'create' ? readIdempotencyKey(ctx.req) : undefined
  return { ...content, preconditions, ...(idempotencyKey === undefined ? {} : { idempotencyKey }) }
}

function readContent(ctx: Context, frame: Frame, decision: Decision): Content | Promise<Content> {
  const { match, limits } = frame
  // The query belongs to the redirect's target, or to the request that OPTIONS asks about: a browser's preflight goes
  // to the same URL as the later request (Fetch, "CORS-preflight fetch").
  if (match.route.redirect || match.endpoint.operation === 'options') return { kind: 'nothing' }
  const parameters = readQuery(match.target.query)
  if (decision.kind === 'list') return { kind: 'list', query: readListQuery(parameters, limits, decision) }
  if (decision.kind === 'read') return { kind: 'item', ...readItemQuery(parameters) }
  refuseParameters(parameters)
  return WITH_BODY.includes(match.endpoint.operation) ? readBodyContent(ctx, frame) : { kind: 'nothing' }
}

async function readBodyContent(ctx: Context, { match, resource, limits }: Frame): Promise<Content> {
  const body = await readBody(ctx, match.endpoint.operation, limits.bodyBytes)
  if (body.kind === 'object') return { kind: 'body', body: body.json }
  return { kind: 'json-patch', operations: parseJsonPatch(body.json, resource) }
}
