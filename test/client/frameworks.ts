/** The same small service in Koa, Express and Fastify: each route is guarded by one line. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import Router from '@koa/router'
import express from 'express'
import { fastify } from 'fastify'
import Koa from 'koa'
import type { AuthzenClient, Resource, Subject } from '../../packages/client/src/index.ts'
import { guard as guardExpress } from '../../packages/client/src/middleware/express.ts'
import { decisionOf, guard as guardFastify } from '../../packages/client/src/middleware/fastify.ts'
import { guard as guardKoa } from '../../packages/client/src/middleware/koa.ts'

/** What a test watches and decides; the request is the headers alone, which are alike in all frameworks. */
export interface Watched {
  subject(headers: Headers): Subject | null | undefined
  fulfil?: (obligations: readonly unknown[]) => boolean
  readonly ran: string[]
  readonly denied: unknown[]
  readonly faults: unknown[]
}

type Headers = Readonly<Record<string, string | string[] | undefined>>

export interface Service {
  readonly url: string
  stop(): Promise<void>
}

/** The routes: `GET /records/:id`, `DELETE /records/:id` (soft), `GET /first` (a function names the record), `GET /lost`. */
export type Start = (client: AuthzenClient, watched: Watched) => Promise<Service>

const FIRST: Resource = { type: 'record', id: 'record-1', properties: { status: 'active' } }
const SOFT = { name: 'delete', properties: { soft: true } }

export const FRAMEWORKS: Readonly<Record<string, Start>> = {
  Koa: async (client, watched) => {
    const can = guardKoa(
      client,
      optionsOf(watched, ({ headers }: Koa.Context) => headers),
    )
    const run: Koa.Middleware = (ctx) => {
      watched.ran.push(ctx.path)
      ctx.body = ctx.state.decision
    }
    const router = new Router()
    router.get('/records/:id', can('read', 'record'), run)
    router.delete('/records/:id', can(SOFT, 'record'), run)
    router.get(
      '/first',
      can('read', () => FIRST),
      run,
    )
    router.get('/lost', can('read', 'record'), run)
    return listening(createServer(new Koa().use(router.routes()).callback()))
  },
  Express: async (client, watched) => {
    const can = guardExpress(
      client,
      optionsOf(watched, ({ headers }: express.Request) => headers),
    )
    const run: express.RequestHandler = (request, response) => {
      watched.ran.push(request.path)
      response.json(response.locals.decision)
    }
    const app = express()
    app.get('/records/:id', can('read', 'record'), run)
    app.delete('/records/:id', can(SOFT, 'record'), run)
    app.get(
      '/first',
      can('read', () => FIRST),
      run,
    )
    app.get('/lost', can('read', 'record'), run)
    return listening(createServer(app))
  },
  Fastify: async (client, watched) => {
    const can = guardFastify(
      client,
      optionsOf(watched, ({ headers }) => headers),
    )
    const app = fastify()
    const run = async (request: Parameters<typeof decisionOf>[0]) => {
      watched.ran.push(request.url)
      return decisionOf(request)
    }
    app.get('/records/:id', { preHandler: can('read', 'record') }, run)
    app.delete('/records/:id', { preHandler: can(SOFT, 'record') }, run)
    app.get('/first', { preHandler: can('read', () => FIRST) }, run)
    app.get('/lost', { preHandler: can('read', 'record') }, run)
    return { url: await app.listen({ host: '127.0.0.1', port: 0 }), stop: () => app.close() }
  },
}

function optionsOf<Request>(watched: Watched, headersOf: (request: Request) => Headers) {
  return {
    subject: (request: Request) => watched.subject(headersOf(request)),
    context: () => ({ from: 'test' }),
    fulfil: (obligations: readonly unknown[]) => watched.fulfil?.(obligations) ?? false,
    onDenied: (decision: unknown) => void watched.denied.push(decision),
    onFault: (error: unknown) => void watched.faults.push(error),
  }
}

async function listening(server: Server): Promise<Service> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
