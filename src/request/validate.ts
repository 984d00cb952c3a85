/** What the client sent besides path and credentials: query parameters and body, checked for form. */
import type { Context } from 'koa'
import type { Decision } from '../policy/decision.ts'
import type { Limits } from '../policy/policy.ts'
import { Problem } from '../problems/problem.ts'
import type { Resource } from '../resources/resource.ts'
import type { Content, Input } from '../routes/handle.ts'
import { parseJsonPatch } from '../routes/json-patch/parse.ts'
import type { RouteMatch } from './match-route.ts'
import { readBody } from './read-body.ts'
import { readPreconditions } from './read-preconditions.ts'
import { refuseUnacceptable } from './refuse-unacceptable.ts'
import { decode } from './request-target.ts'

interface Frame {
  readonly match: RouteMatch
  readonly resource: Resource
  readonly limits: Limits
}

/** Throws Problem not-acceptable, invalid-query, what read-body throws, invalid-patch, or invalid-precondition, in this order. */
export async function validate(ctx: Context, frame: Frame, decision: Decision): Promise<Input> {
  const { route, endpoint } = frame.match
  if (!route.redirect) refuseUnacceptable(ctx, endpoint.operation)
  const content = await readContent(ctx, frame, decision)
  // RFC 9110 section 13.2.1: a precondition is about a representation, not about what leads to one.
  if (decision.kind === 'route' || decision.kind === 'list') return { ...content, preconditions: {} }
  return { ...content, preconditions: readPreconditions(ctx.req) }
}

async function readContent(ctx: Context, { match, resource, limits }: Frame, decision: Decision): Promise<Content> {
  // The query is for the path that the redirect leads to.
  if (match.route.redirect) return { kind: 'nothing' }
  const parameters = readQuery(match.target.query)
  if (decision.kind === 'list') return readPage(parameters, limits)
  refuseUnknown(parameters, [])
  if (decision.kind !== 'create' && decision.kind !== 'update') return { kind: 'nothing' }
  const body = await readBody(ctx, match.endpoint.operation, limits.bodyBytes)
  if (body.kind === 'object') return { kind: 'body', body: body.json }
  return { kind: 'json-patch', operations: parseJsonPatch(body.json, resource) }
}

/** Each parameter once: which of two would count is anybody's guess. */
function readQuery(query: string): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>()
  for (const pair of query === '' ? [] : query.split('&')) {
    const [name, value] = splitPair(pair).map((part) => decode(part.replaceAll('+', ' ')))
    if (name === undefined || value === undefined) {
      throw new Problem('invalid-query', 'The query has faulty percent-encoding.')
    }
    if (parameters.has(name)) throw new Problem('invalid-query', `The query parameter ${name} stands more than once.`)
    parameters.set(name, value)
  }
  return parameters
}

function splitPair(pair: string): readonly [string, string] {
  const at = pair.indexOf('=')
  return at < 0 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + 1)]
}

function refuseUnknown(parameters: ReadonlyMap<string, string>, known: readonly string[]): void {
  for (const name of parameters.keys()) {
    if (known.includes(name)) continue
    const accepted = known.length === 0 ? 'none' : known.join(', ')
    throw new Problem('invalid-query', `This route doesn't know the query parameter ${name}; it accepts: ${accepted}.`)
  }
}

function readPage(parameters: ReadonlyMap<string, string>, { page }: Limits): Content {
  refuseUnknown(parameters, ['limit', 'cursor'])
  const text = parameters.get('limit') ?? String(page.default)
  const limit = /^[1-9]\d{0,5}$/.test(text) ? Number(text) : Number.NaN
  if (!(limit <= page.max)) {
    throw new Problem('invalid-query', `The query parameter limit is a whole number from 1 to ${page.max}.`)
  }
  return { kind: 'page', limit, cursor: parameters.get('cursor') }
}
