/**
 * Finds the route of a request, and the faults that Node's parser accepts. For a malformed request, an unknown path or
 * method it provides a value; a later stage refuses the request, after the rate limits have counted it. It also knows the
 * routes of gateways.
 */
import type { IncomingMessage } from 'node:http'
import { Problem } from '../../base/problems/problem.ts'
import type { Routers } from '../../resources/routing/match-route.ts'
import { isAuthority, readTarget } from '../../resources/routing/request-target.ts'
import { recognizeGateway } from '../authzen/forward.ts'
import { interruptionOf } from '../http/http-server.ts'
import type { Forwarding, Matched, Received, Stage } from './state.ts'

export function match(routers: Pick<Routers, 'find'>): Stage<Received, Matched & Forwarding> {
  return (ctx, next) => {
    const target = readTarget(ctx.req.url ?? '')
    const { match: found, routes } = routers.find(ctx.method, findMalformed(ctx.req) ?? target)
    ctx.state.match = found
    ctx.state.routes = routes
    // A request without clear bounds ends its connection, even if the rate limits refuse it first.
    if (found.kind === 'malformed') Object.assign(ctx.state.headers, found.problem.headers)
    // The path of a malformed request can still be read, but for one that Node's parser refused.
    const asked = found.kind === 'malformed' ? routers.find('GET', target).match : found
    if ('route' in asked && asked.route.gateway) recognizeGateway(ctx.state, asked)
    return next()
  }
}

/** Far more than any client sends; 2,000 small headers fit under the parser's limit of bytes. */
const MAX_HEADERS = 100

/** Headers that must not be repeated: Node would use the first one and silently ignore the others. */
const SINGLE = new Set(['host', 'content-type', 'content-length', 'content-encoding', 'expect', 'content-range'])

/** Returns the problem, because the rate limits come before any answer. Undefined for a well-formed request. */
export function findMalformed(request: IncomingMessage): Problem | undefined {
  const { rawHeaders } = request
  if (rawHeaders.length / 2 > MAX_HEADERS) {
    return new Problem('headers-too-large', `The request has more than ${MAX_HEADERS} headers; send fewer.`)
  }
  const fault =
    interruptionOf(request) ??
    faultOfVersion(request) ??
    faultOfNames(rawHeaders) ??
    faultOfHost(request) ??
    faultOfFraming(request)
  if (fault) return fault
  const { expect } = request.headers
  if (expect === undefined || expect.toLowerCase() === '100-continue') return undefined
  return new Problem('expectation-failed', 'The header Expect is not supported; send 100-continue, or omit the header.')
}

/** The parser treats other versions as HTTP/1.1. */
function faultOfVersion({ httpVersion }: IncomingMessage): Problem | undefined {
  return httpVersion === '1.1' || httpVersion === '1.0'
    ? undefined
    : malformed('The version of HTTP is not supported; use HTTP/1.1.')
}

function faultOfNames(rawHeaders: readonly string[]): Problem | undefined {
  const seen = new Set<string>()
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] ?? '').toLowerCase()
    if (!SINGLE.has(name)) continue
    if (seen.has(name)) return malformed(`The header ${name} is repeated; send it once.`)
    seen.add(name)
  }
  return undefined
}

/** RFC 9112 section 3.2: a request without Host, or with a malformed Host, is 400. */
function faultOfHost({ headers: { host }, httpVersion }: IncomingMessage): Problem | undefined {
  if (host === undefined) return httpVersion === '1.1' ? malformed('The header host is missing; send it.') : undefined
  return isAuthority(host) ? undefined : malformed('The header host is not valid; send a host with an optional port.')
}

function faultOfFraming({ headers, httpVersion }: IncomingMessage): Problem | undefined {
  const coding = headers['transfer-encoding']
  if (coding === undefined) return undefined
  // RFC 9112 section 6.1: HTTP/1.0 has no transfer codings, so a proxy on the way may have read other bounds.
  if (httpVersion === '1.0') return malformed('HTTP/1.0 has no transfer-encoding; omit the header, or use HTTP/1.1.')
  return coding.toLowerCase() === 'chunked'
    ? undefined
    : malformed('The transfer-encoding is not supported; use chunked.')
}

/** The end of this request is in doubt, so nothing more is read from the connection. */
function malformed(detail: string): Problem {
  return new Problem('malformed-request', detail, { headers: { Connection: 'close' } })
}
