/**
 * Runs Koa's middleware for each request, without what `koa.callback()` adds: listeners for the end of each answer, and
 * an answer for middleware that gave none. The first stage ends every answer (docs/decisions/0039).
 */
import type { RequestListener } from 'node:http'
import type Koa from 'koa'
import compose from 'koa-compose'

export function runStages(koa: Koa): RequestListener {
  const run = compose(koa.middleware)
  return (request, response) => {
    const ctx = koa.createContext(request, response)
    run(ctx).catch((error: unknown) => ctx.onerror(error as Error))
  }
}
