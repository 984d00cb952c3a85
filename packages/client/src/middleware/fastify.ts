/** A hook for Fastify: `app.get('/orders/:id', { preHandler: can('read', 'orders') }, handler)`. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AuthzenClient } from '../client.ts'
import type { Action, Decision } from '../entities.ts'
import { ask, type GuardOptions, isRefusal, type ResourceOf } from './guard.ts'

export type Can = (
  action: string | Action,
  resource: ResourceOf<FastifyRequest>,
) => (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply | undefined>

const permits = new WeakMap<FastifyRequest, Decision>()

/** Gives one function for all routes. `decisionOf(request)` gives the permit. */
export function guard(client: AuthzenClient, options: GuardOptions<FastifyRequest>): Can {
  return (action, resource) => async (request, reply) => {
    const outcome = await ask(client, options, { action, resource, params: () => request.params }, request)
    if (!isRefusal(outcome)) {
      permits.set(request, outcome)
      return undefined
    }
    return reply.code(outcome.status).headers(outcome.headers).send(outcome.body)
  }
}

/** The permit of a guarded route. */
export function decisionOf(request: FastifyRequest): Decision | undefined {
  return permits.get(request)
}
