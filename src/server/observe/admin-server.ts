/**
 * The operator's port. It is outside the gate: no policy applies to it, no rate limit counts its requests, and the
 * decision log doesn't record them. ADMIN_HOST decides who can reach it; ADMIN_TOKEN, if set, guards everything but a
 * probe's `status`.
 */
import { hash, randomUUID, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Problem } from '../../base/problems/problem.ts'
import { readCredentials } from '../../identity/caller.ts'
import { readTarget } from '../../resources/routing/request-target.ts'
import { PROBLEM_TYPE, problemDocument, problemOf } from '../answers/to-problem.ts'
import { findMalformed } from '../http/find-malformed.ts'
import { createHttpServer } from '../http/http-server.ts'
import { readinessOf } from '../routes/built-in.ts'
import type { Services } from '../routes/handler.ts'
import type { Metrics } from './metrics.ts'

interface PageContent {
  readonly contentType: string
  readonly text: string
}

interface AdminPage {
  /** Shown without the token: a kubelet's probe has no credentials. */
  readonly open: boolean
  /** Throws Problem. `trusted`: the request has the token, or no token is set. */
  readonly show: (trusted: boolean) => Promise<PageContent>
}

type AdminPages = ReadonlyMap<string, AdminPage>

export type AdminSources = Pick<Metrics, 'text' | 'contentType'> & Pick<Services, 'checks'>

const ALLOW = 'GET, HEAD'

/** `token`: undefined when everybody who reaches the port may read. */
export function createAdminServer(sources: AdminSources, token?: string): Server {
  const pages: AdminPages = new Map<string, AdminPage>([
    ['/metrics', { open: false, show: () => showMetrics(sources) }],
    ['/livez', { open: true, show: async () => json({ status: 'ok' }) }],
    ['/readyz', { open: true, show: (trusted) => showReadiness(sources, trusted) }],
  ])
  return createHttpServer((request, response) => void answer(pages, token, { request, response }))
}

interface HttpExchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

async function answer(pages: AdminPages, token: string | undefined, exchange: HttpExchange): Promise<void> {
  try {
    const { open, show } = pageFor(pages, exchange.request)
    const refusal = refusalOf(exchange.request, token)
    if (refusal && !open) throw refusal
    const { contentType, text } = await show(refusal === undefined)
    send(exchange, { status: 200, headers: { 'Content-Type': contentType }, text })
  } catch (error) {
    const problem = problemOf(error, undefined)
    const headers = { ...problem.headers, 'Content-Type': PROBLEM_TYPE }
    send(exchange, { status: problem.status, headers, text: JSON.stringify(problemDocument(problem, randomUUID())) })
  }
}

/** 400, 404 or 405, in the same order as in the gate. */
function pageFor(pages: AdminPages, request: IncomingMessage): AdminPage {
  const target = findMalformed(request) ?? readTarget(request.url ?? '')
  if (target instanceof Problem) throw target
  const shown = pages.get(target.path)
  if (!shown)
    throw new Problem('route-not-found', `The admin port has no such path; use one of ${[...pages.keys()].join(', ')}.`)
  if (request.method === 'GET' || request.method === 'HEAD') return shown
  throw new Problem('method-not-allowed', `This path does not accept the method; use ${ALLOW}.`, {
    headers: { Allow: ALLOW },
  })
}

/** Undefined for a request with the token, and when no token is set. */
function refusalOf({ rawHeaders }: IncomingMessage, token: string | undefined): Problem | undefined {
  if (token === undefined) return undefined
  const credentials = readCredentials(rawHeaders)
  if (credentials.kind === 'bearer' && isSame(credentials.token, token)) return undefined
  const challenge = 'Bearer realm="sallyport admin"'
  if (credentials.kind === 'none') {
    const headers = { 'WWW-Authenticate': challenge }
    return new Problem(
      'credentials-missing',
      'This page needs credentials; send the value of `ADMIN_TOKEN` as a bearer token.',
      { headers },
    )
  }
  const headers = { 'WWW-Authenticate': `${challenge}, error="invalid_token"` }
  return new Problem('token-invalid', 'The bearer token is not the value of `ADMIN_TOKEN`; send that value.', {
    headers,
  })
}

/** Takes the same time at whatever position the two differ, and however long they are. */
function isSame(given: string, wanted: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', wanted, 'buffer'))
}

async function showReadiness({ checks }: AdminSources, trusted: boolean): Promise<PageContent> {
  const { status, ...details } = readinessOf(await checks(), trusted)
  return json(trusted ? { status, ...details } : { status })
}

function json(value: unknown): PageContent {
  return { contentType: 'application/json', text: JSON.stringify(value) }
}

async function showMetrics({ text, contentType }: AdminSources): Promise<PageContent> {
  try {
    return { contentType, text: await text() }
  } catch (cause) {
    // A worker is too busy to answer, or ended while it was asked: the next scrape has them all.
    const headers = { 'Retry-After': '5' }
    throw new Problem('not-ready', 'Some processes did not report their metrics; ask again.', { cause, headers })
  }
}

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

function send({ request, response }: HttpExchange, { status, headers, text }: Answer): void {
  response.writeHead(status, {
    ...headers,
    'Cache-Control': 'no-store',
    'Content-Length': String(Buffer.byteLength(text)),
  })
  response.end(request.method === 'HEAD' ? undefined : text)
}
