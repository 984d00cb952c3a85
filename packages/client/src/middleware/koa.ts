/** Middleware for Koa: `router.get('/orders/:id', can('read', 'orders'), handler)`. */
import type { Context, Middleware } from 'koa'
import type { AuthzenClient } from '../client.ts'
import type { Action } from '../entities.ts'
import { ask, type GuardOptions, isRefusal, type ResourceOf } from './guard.ts'

export type Can = (action: string | Action, resource: ResourceOf<Context>) => Middleware

/** Gives one function for all routes. A permit stands in `ctx.state.decision`. */
export function guard(client: AuthzenClient, options: GuardOptions<Context>): Can {
  return (action, resource) => async (ctx, next) => {
    const params = () => (ctx as { readonly params?: unknown }).params
    const outcome = await ask(client, options, { action, resource, params }, ctx)
    if (!isRefusal(outcome)) {
      ctx.state.decision = outcome
      return next()
    }
    ctx.status = outcome.status
    ctx.set(outcome.headers)
    ctx.body = outcome.body
  }
}
