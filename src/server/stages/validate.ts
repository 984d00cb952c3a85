/**
 * Checks the form of the rest of a request: Accept, query parameters, body, If-Match and If-None-Match (RFC 9110
 * sections 13.1.1 and 13.1.2; objects have no Last-Modified), and Idempotency-Key.
 */

import type { IncomingMessage } from 'node:http'
import type { Context } from 'koa'
import { pointerOfPath } from '../../base/json-pointer.ts'
import { onceKnown } from '../../base/now-or-later.ts'
import { Problem } from '../../base/problems/problem.ts'
import type { Decision } from '../../decide/decision.ts'
import type { Limits } from '../../decide/policy.ts'
import type { Command, Operation, Resource } from '../../resources/resource.ts'
import type { RouteMatch } from '../../resources/routing/match-route.ts'
import { readQuery } from '../../resources/routing/query.ts'
import { inputFaults } from '../../resources/validate/compile-schema.ts'
import { EVENT_STREAM } from '../answers/event-stream.ts'
import { hasBody } from '../http/http-server.ts'
import type { Content, EntityTag, Input, ListRequest, Preconditions, TagCondition } from '../input/input.ts'
import { readBody } from '../input/read-body.ts'
import { readHistoryQuery, readItemQuery, readListQuery, readStreamQuery, refuseQuery } from '../input/read-query.ts'
import type { Accepted, Authorized, Forwarding, Received, Stage, Validated } from './state.ts'

interface Frame {
  readonly match: RouteMatch
  readonly resource: Resource
  readonly limits: Limits
}

const WITH_BODY: readonly Operation[] = ['create', 'replace', 'update']

/** The media type as sent. A client may require the parameter or leave it out. */
const REPRESENTATION = 'application/json;charset=utf-8'

/** Operations whose answers have no body in JSON. */
const BODILESS: readonly Operation[] = ['delete', 'watch', 'options']

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
      ctx.state.input = withHeaders(ctx, match, decision, content)
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
  if (operation === 'watch' && ctx.accepts(EVENT_STREAM) === false)
    throw new Problem('not-acceptable', `The header Accept excludes ${EVENT_STREAM}; accept it.`)
  // Most clients send one of these two, and both accept JSON.
  if (accept === undefined || accept === '*/*' || BODILESS.includes(operation)) return
  if (ctx.accepts(REPRESENTATION) !== false) return
  throw new Problem('not-acceptable', 'The header Accept excludes application/json; accept it.')
}

function withHeaders(ctx: Context, { route }: RouteMatch, decision: Decision, content: Content): Input {
  // RFC 9110 section 13.2.1: preconditions concern one representation, so these decisions ignore them.
  if (decision.kind === 'route' || decision.kind === 'list' || decision.kind === 'watch')
    return { ...content, preconditions: {} }
  const preconditions = readPreconditions(ctx.req)
  // The other methods can be repeated safely without a key.
  const idempotencyKey = route.command || decision.kind === 'create' ? readIdempotencyKey(ctx.req) : undefined
  return { ...content, preconditions, idempotencyKey }
}

function readContent(ctx: Context, frame: Frame, decision: Decision): Content | Promise<Content> {
  const { match, limits } = frame
  // The query belongs to the redirect's target, or to the request that OPTIONS asks about: a browser's preflight goes
  // to the same URL as the later request (Fetch, "CORS-preflight fetch").
  if (match.route.redirect || match.endpoint.operation === 'options') return { kind: 'nothing' }
  const { query } = match.target
  if (decision.kind === 'list')
    return { kind: 'list', query: underParent(match, readListQuery(readQuery(query), limits, decision)) }
  if (match.route.history) return { kind: 'history', ...readHistoryQuery(readQuery(query), limits) }
  if (decision.kind === 'watch')
    return { kind: 'list', query: readStreamQuery(readQuery(query), limits, decision.list) }
  if (decision.kind === 'read') return { kind: 'item', ...readItemQuery(readQuery(query), frame.resource) }
  if (query !== '') refuseQuery(query)
  const { operation } = match.endpoint
  if (!WITH_BODY.includes(operation)) return { kind: 'nothing' }
  if (match.route.command) return readInput(ctx, match.route.command, frame)
  const content = readBody(ctx, { operation, resource: frame.resource, limitBytes: limits.bodyBytes })
  return match.route.parent ? onceKnown(content, (read) => withParent(match, read)) : content
}

/** A command whose members may all be absent needs no body. Throws as readBody, and Problem invalid-body. */
async function readInput(ctx: Context, { input = NO_INPUT }: Command, { resource, limits }: Frame): Promise<Content> {
  const expected = { operation: 'create', resource, limitBytes: limits.bodyBytes } as const
  const content: Content = hasBody(ctx.req) ? await readBody(ctx, expected) : { kind: 'body', body: {} }
  const errors = content.kind === 'body' ? inputFaults(input, content.body) : []
  if (errors.length === 0) return content
  throw new Problem('invalid-body', 'The body does not fit the command; correct the fields in `errors`.', { errors })
}

const NO_INPUT = { type: 'object', additionalProperties: false }

/** Only the objects of the parent that the path names. */
function underParent({ route: { parent }, parentId }: RouteMatch, query: ListRequest): ListRequest {
  if (!parent || parentId === undefined) return query
  return {
    ...query,
    filter: [...query.filter, { field: parent.field, by: 'value', operator: 'in', values: [parentId] }],
  }
}

/** As if the body named the parent of the path. Throws Problem invalid-body where it names another one. */
function withParent({ route: { parent }, parentId }: RouteMatch, content: Content): Content {
  if (!parent || parentId === undefined || content.kind !== 'body') return content
  const { field } = parent
  const { body } = content
  if (!Object.hasOwn(body, field)) return { ...content, body: { ...body, [field]: parentId } }
  if (body[field] === parentId) return content
  const errors = [{ pointer: pointerOfPath([field]), detail: 'is not the one that the path names', code: 'parent' }]
  throw new Problem('invalid-body', 'The body does not fit the path; correct the fields in `errors`, or omit them.', {
    errors,
  })
}

/**
 * One element of the list, which may be empty (RFC 9110 section 5.6.1.2), and what ends it. No part can match twice.
 */
const ELEMENT = /(?:(?<weak>W\/)?"(?<opaque>[\x21\x23-\x7e\x80-\xff]*)"[ \t]*)?(?:,[ \t]*|$)/y

/** Throws Problem invalid-precondition. */
export function readPreconditions({ headers }: IncomingMessage): Preconditions {
  return {
    ifMatch: readCondition('If-Match', headers['if-match']),
    ifNoneMatch: readCondition('If-None-Match', headers['if-none-match']),
  }
}

/** Ignoring a faulty If-Match could lose an update. */
function readCondition(name: string, value: string | undefined): TagCondition | undefined {
  if (value === undefined) return undefined
  if (value === '*') return { kind: 'any' }
  const tags = readTags(value)
  if (tags && tags.length > 0) return { kind: 'listed', tags }
  const detail = `The header ${name} is not valid; send * or entity tags in double quotes, as in ETag.`
  throw new Problem('invalid-precondition', detail)
}

/** Undefined if the text isn't a list of entity tags. */
function readTags(value: string): readonly EntityTag[] | undefined {
  const tags: EntityTag[] = []
  let at = 0
  while (at < value.length) {
    ELEMENT.lastIndex = at
    const found = ELEMENT.exec(value)
    if (!found) return undefined
    const { weak, opaque } = found.groups ?? {}
    if (opaque !== undefined) tags.push({ weak: weak !== undefined, opaque })
    at += found[0].length
  }
  return tags
}

const LONGEST_KEY = 255

/** A string of RFC 8941 section 3.3.3. */
const QUOTED = /^"(?<inner>(?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/
const BARE = /^[\x21\x23-\x2b\x2d-\x7e]*$/

/**
 * Without quotes and escapes, so that `"a"` and `a` are one key; undefined without the header. Throws Problem
 * invalid-idempotency-key.
 */
export function readIdempotencyKey({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): string | undefined {
  const values = rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === 'idempotency-key')
  const [value, ...others] = values
  if (value === undefined) return undefined
  const key = others.length === 0 ? readKey(value.trim()) : undefined
  if (key !== undefined && key !== '' && key.length <= LONGEST_KEY) return key
  const form = `1 to ${LONGEST_KEY} printable ASCII characters, in double quotes if one is a space, a comma or a quote`
  throw new Problem('invalid-idempotency-key', `The header Idempotency-Key is not valid; send it once, with ${form}.`)
}

function readKey(value: string): string | undefined {
  const quoted = QUOTED.exec(value)?.groups?.inner
  if (quoted !== undefined) return quoted.replace(/\\(.)/g, '$1')
  return BARE.test(value) ? value : undefined
}
