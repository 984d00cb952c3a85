/** What the client sent besides path and credentials: query parameters and body, checked for form. */
import type { Context } from 'koa'
import { onceKnown } from '../../base/once-known.ts'
import type { Decision } from '../../decide/decision.ts'
import type { Limits } from '../../decide/policy.ts'
import type { Operation, Resource } from '../../resources/resource.ts'
import type { RouteMatch } from '../../resources/routing/match-route.ts'
import { readBody } from '../input/read-body.ts'
import { readIdempotencyKey } from '../input/read-idempotency-key.ts'
import { readListQuery } from '../input/read-list-query.ts'
import { readPreconditions } from '../input/read-preconditions.ts'
import { readQuery, refuseParameters } from '../input/read-query.ts'
import type { Content, Input } from '../routes/handle.ts'
import { parseJsonPatch } from '../routes/json-patch/parse.ts'
import { refuseUnacceptable } from './refuse-unacceptable.ts'

interface Frame {
  readonly match: RouteMatch
  readonly resource: Resource
  readonly limits: Limits
}

const WITH_BODY: readonly Operation[] = ['create', 'replace', 'update']

/**
 * Throws Problem not-acceptable, invalid-query, what read-body throws, invalid-patch, invalid-precondition, or
 * invalid-idempotency-key, in this order.
 */
export function validate(ctx: Context, frame: Frame, decision: Decision): Input | Promise<Input> {
  const { route, endpoint } = frame.match
  if (!route.redirect) refuseUnacceptable(ctx, endpoint.operation)
  return onceKnown(readContent(ctx, frame, decision), (content) => withHeaders(ctx, decision, content))
}

function withHeaders(ctx: Context, decision: Decision, content: Content): Input {
  // RFC 9110 section 13.2.1: a precondition is about a representation, not about what leads to one.
  if (decision.kind === 'route' || decision.kind === 'list') return { ...content, preconditions: {} }
  const preconditions = readPreconditions(ctx.req)
  // The other methods can be repeated as they are.
  const idempotencyKey = decision.kind === 'create' ? readIdempotencyKey(ctx.req) : undefined
  return { ...content, preconditions, ...(idempotencyKey === undefined ? {} : { idempotencyKey }) }
}

function readContent(ctx: Context, frame: Frame, decision: Decision): Content | Promise<Content> {
  const { match, limits } = frame
  // The query is for the path that the redirect leads to, or for the request that OPTIONS asks about: a browser's preflight
  // goes to the very URL that is to be fetched (Fetch, "CORS-preflight fetch").
  if (match.route.redirect || match.endpoint.operation === 'options') return { kind: 'nothing' }
  const parameters = readQuery(match.target.query)
  if (decision.kind === 'list') return { kind: 'list', query: readListQuery(parameters, limits, decision) }
  refuseParameters(parameters)
  return WITH_BODY.includes(match.endpoint.operation) ? readBodyContent(ctx, frame) : { kind: 'nothing' }
}

async function readBodyContent(ctx: Context, { match, resource, limits }: Frame): Promise<Content> {
  const body = await readBody(ctx, match.endpoint.operation, limits.bodyBytes)
  if (body.kind === 'object') return { kind: 'body', body: body.json }
  return { kind: 'json-patch', operations: parseJsonPatch(body.json, resource) }
}
