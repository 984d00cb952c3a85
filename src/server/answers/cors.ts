/**
 * Tells browsers what pages of other origins may do with this server (CORS: the Fetch standard, section 3.3). It grants
 * no access: preflights and requests pass every stage, and browsers send no credentials by themselves.
 */
import type { IncomingMessage } from 'node:http'
import type { ResponseHeaders } from '../stages/state.ts'

export interface CorsOptions {
  /** Serialized origins, compared exactly; `*` alone allows every page; an empty list turns CORS off. */
  readonly origins: readonly string[]
  /** How long a browser may keep the answer to a preflight. */
  readonly maxAgeSeconds: number
}

export interface Cors {
  /** The headers of every answer, problems included. */
  readonly share: (request: IncomingMessage, headers: ResponseHeaders) => void
  /** For answers to OPTIONS: tells a preflight what the route accepts. */
  readonly answerPreflight: (request: IncomingMessage, headers: ResponseHeaders) => void
}

/**
 * Headers of an answer that a client can need and a browser would hide (Fetch, "CORS-safelisted response-header name").
 */
const EXPOSED = [
  'Accept',
  'Accept-Patch',
  'Allow',
  'Content-Location',
  'Deprecation',
  'ETag',
  'Idempotency-Replayed',
  'Link',
  'Location',
  'Policy-Revision',
  'Policy-Sequence',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'Sunset',
  'WWW-Authenticate',
].join(', ')

/** Request headers beyond the safelisted ones. Each is named, because `*` leaves Authorization out. */
const REQUEST_HEADERS = [
  'Accept',
  'Authorization',
  'Content-Type',
  'Idempotency-Key',
  'If-Match',
  'If-None-Match',
  'Last-Event-ID',
  'Policy-Sequence-At-Least',
  'Traceparent',
  'Tracestate',
].join(', ')

/** Undefined where CORS is off. */
export function createCors({ origins, maxAgeSeconds }: CorsOptions): Cors | undefined {
  if (origins.length === 0) return undefined
  const everyone = origins.includes('*')
  const known: ReadonlySet<string> = new Set(origins)
  const allowedOrigin = ({ headers: { origin } }: IncomingMessage): string | undefined => {
    if (origin === undefined) return undefined
    if (everyone) return '*'
    return known.has(origin) ? origin : undefined
  }
  const share: Cors['share'] = (request, headers) => {
    // Set even without an Origin: otherwise a shared cache would give one page's answer to another.
    if (!everyone) headers.Vary = headers.Vary === undefined ? 'Origin' : `${headers.Vary}, Origin`
    const allowed = allowedOrigin(request)
    if (allowed === undefined) return
    headers['Access-Control-Allow-Origin'] = allowed
    headers['Access-Control-Expose-Headers'] = EXPOSED
  }
  const answerPreflight: Cors['answerPreflight'] = (request, headers) => {
    if (request.method !== 'OPTIONS' || allowedOrigin(request) === undefined) return
    if (request.headers['access-control-request-method'] === undefined) return
    headers['Access-Control-Allow-Methods'] = headers.Allow ?? ''
    headers['Access-Control-Allow-Headers'] = REQUEST_HEADERS
    headers['Access-Control-Max-Age'] = String(maxAgeSeconds)
  }
  return { share, answerPreflight }
}
