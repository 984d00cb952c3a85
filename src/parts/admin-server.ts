/**
 * The operator's port. It stands outside the gate: no policy rules it, no rate limit counts it, and the decision log holds
 * none of its requests. ADMIN_HOST says who reaches it, and ADMIN_TOKEN, if set, is asked of all.
 */
import { hash, randomUUID, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { readCredentials } from '../identity/read-credentials.ts'
import { Problem } from '../problems/problem.ts'
import { findMalformed } from '../request/find-malformed.ts'
import { createHttpServer } from '../request/http-server.ts'
import type { Metrics } from '../request/metrics.ts'
import { PROBLEM_TYPE, problemDocument, problemOf } from '../request/problem-boundary.ts'
import { readTarget } from '../request/request-target.ts'

interface Page {
  readonly contentType: string
  readonly text: string
}

/** What is shown of a path; throws Problem. */
type Show = () => Promise<Page>

const ALLOW = 'GET, HEAD'

/** `token`: undefined when whoever reaches the port may read. */
export function createAdminServer(metrics: Pick<Metrics, 'text' | 'contentType'>, token?: string): Server {
  const pages: ReadonlyMap<string, Show> = new Map([['/metrics', () => showMetrics(metrics)]])
  return createHttpServer((request, response) => void answer(pages, token, { request, response }))
}

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

async function answer(pages: ReadonlyMap<string, Show>, token: string | undefined, exchange: Exchange): Promise<void> {
  try {
    const show = showOf(pages, exchange.request)
    refuseStrangers(exchange.request, token)
    const { contentType, text } = await show()
    send(exchange, { status: 200, headers: { 'Content-Type': contentType }, text })
  } catch (error) {
    const problem = problemOf(error, undefined)
    const headers = { ...problem.headers, 'Content-Type': PROBLEM_TYPE }
    send(exchange, { status: problem.status, headers, text: JSON.stringify(problemDocument(problem, randomUUID())) })
  }
}

/** 400, 404 or 405, in the order in which the gate has them. */
function showOf(pages: ReadonlyMap<string, Show>, request: IncomingMessage): Show {
  const target = findMalformed(request) ?? readTarget(request.url ?? '')
  if (target instanceof Problem) throw target
  const show = pages.get(target.path)
  if (!show) throw new Problem('route-not-found', `The admin port has only ${[...pages.keys()].join(', ')}.`)
  if (request.method === 'GET' || request.method === 'HEAD') return show
  throw new Problem('method-not-allowed', `This path accepts ${ALLOW}.`, { headers: { Allow: ALLOW } })
}

function refuseStrangers({ rawHeaders }: IncomingMessage, token: string | undefined): void {
  if (token === undefined) return
  const credentials = readCredentials(rawHeaders)
  if (credentials.kind === 'bearer' && isSame(credentials.token, token)) return
  const challenge = 'Bearer realm="sallyport admin"'
  if (credentials.kind === 'none') {
    const headers = { 'WWW-Authenticate': challenge }
    throw new Problem('credentials-missing', 'Send the value of `ADMIN_TOKEN` as a bearer token.', { headers })
  }
  const headers = { 'WWW-Authenticate': `${challenge}, error="invalid_token"` }
  throw new Problem('token-invalid', 'The bearer token is not the value of `ADMIN_TOKEN`.', { headers })
}

/** Takes the same time wherever the two differ, and however long they are. */
function isSame(given: string, wanted: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', wanted, 'buffer'))
}

async function showMetrics({ text, contentType }: Pick<Metrics, 'text' | 'contentType'>): Promise<Page> {
  try {
    return { contentType, text: await text() }
  } catch (cause) {
    // A worker is too busy to answer, or ended while it was asked: the next scrape has them all.
    const headers = { 'Retry-After': '5' }
    throw new Problem('not-ready', 'Not every process told its metrics; ask again.', { cause, headers })
  }
}

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

function send({ request, response }: Exchange, { status, headers, text }: Answer): void {
  response.writeHead(status, {
    ...headers,
    'Cache-Control': 'no-store',
    'Content-Length': String(Buffer.byteLength(text)),
  })
  response.end(request.method === 'HEAD' ? undefined : text)
}
