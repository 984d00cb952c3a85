/** Middleware for Express: `app.get('/orders/:id', can('read', 'orders'), handler)`. */
import type { Request, RequestHandler } from 'express'
import type { AuthzenClient } from '../client.ts'
import type { Action } from '../entities.ts'
import { ask, type GuardOptions, isRefusal, type ResourceOf } from './guard.ts'

export type Can = (action: string | Action, resource: ResourceOf<Request>) => RequestHandler

/** Gives one function for all routes. A permit stands in `response.locals.decision`. */
export function guard(client: AuthzenClient, options: GuardOptions<Request>): Can {
  return (action, resource) => async (request, response, next) => {
    const outcome = await ask(client, options, { action, resource, params: () => request.params }, request)
    if (!isRefusal(outcome)) {
      response.locals.decision = outcome
      return next()
    }
    response.status(outcome.status).set(outcome.headers).end(outcome.body)
  }
}
