/**
 * The operator's port. It is outside the gate: no policy applies to it, no rate limit counts its requests, and the
 * decision log doesn't record them. ADMIN_HOST decides who can reach it; ADMIN_TOKEN, if set, guards everything but a
 * probe's `status`.
 */
import { hash, randomUUID, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, Server } from 'node:http'
import Koa from 'koa'
import { Problem } from '../../base/problems/problem.ts'
import { readCredentials } from '../../identity/caller.ts'
import { readTarget } from '../../resources/routing/request-target.ts'
import { PROBLEM_TYPE, problemDocument, problemOf } from '../answers/to-problem.ts'
import { createHttpServer } from '../http/http-server.ts'
import { readinessOf } from '../routes/built-in.ts'
import type { Services } from '../routes/handler.ts'
import { findMalformed } from '../stages/match.ts'
import type { Metrics } from './metrics.ts'

interface AdminPage {
  /** Shown without the token: a kubelet's probe has no credentials. */
  readonly open: boolean
  readonly contentType: string
  /** Throws Problem. `trusted`: the request has the token, or no token is set. */
  readonly show: (trusted: boolean) => Promise<string>
}

type AdminPages = ReadonlyMap<string, AdminPage>

export type AdminSources = Pick<Metrics, 'text' | 'contentType'> & Pick<Services, 'checks'>

const ALLOW = 'GET, HEAD'
const PROBE = { open: true, contentType: 'application/json' } as const

/** `token`: undefined when everybody who reaches the port may read. */
export function createAdminServer(sources: AdminSources, token?: string): Server {
  const pages: AdminPages = new Map<string, AdminPage>([
    ['/metrics', { open: false, contentType: sources.contentType, show: () => showMetrics(sources) }],
    ['/livez', { ...PROBE, show: async () => JSON.stringify({ status: 'ok' }) }],
    ['/readyz', { ...PROBE, show: (trusted) => showReadiness(sources, trusted) }],
  ])
  const app = new Koa()
  app.use(async (ctx) => {
    ctx.set('Cache-Control', 'no-store')
    try {
      const { open, contentType, show } = pageFor(pages, ctx.req)
      const refusal = refusalOf(ctx.req, token)
      if (refusal && !open) throw refusal
      const text = await show(refusal === undefined)
      ctx.set('Content-Type', contentType)
      ctx.body = text
    } catch (error) {
      const problem = problemOf(error, undefined)
      ctx.status = problem.status
      ctx.set({ ...problem.headers, 'Content-Type': PROBLEM_TYPE })
      ctx.body = JSON.stringify(problemDocument(problem, randomUUID()))
    }
  })
  return createHttpServer(app.callback())
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

async function showReadiness({ checks }: AdminSources, trusted: boolean): Promise<string> {
  const { status, ...details } = readinessOf(await checks(), trusted)
  return JSON.stringify(trusted ? { status, ...details } : { status })
}

async function showMetrics({ text }: AdminSources): Promise<string> {
  try {
    return await text()
  } catch (cause) {
    // A worker is too busy to answer, or ended while it was asked: the next scrape has them all.
    const headers = { 'Retry-After': '5' }
    throw new Problem('not-ready', 'Some processes did not report their metrics; ask again.', { cause, headers })
  }
}
