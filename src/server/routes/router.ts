/** Registers a handler in @koa/router for each method that a route accepts. */
import type { ServerResponse } from 'node:http'
import type { default as Router, RouterContext } from '@koa/router'
import type { Middleware } from 'koa'
import type { Decision } from '../../decide/decision.ts'
import type { Method, Operation, Route } from '../../resources/resource.ts'
import { Routers } from '../../resources/routing/match-route.ts'
import type { Store } from '../../store/contract.ts'
import { StaleObject } from '../../store/errors.ts'
import { admit } from '../access/forward.ts'
import { ACCESS_HANDLERS } from '../access/routes.ts'
import { createWrites } from '../answers/record.ts'
import { clientGone } from '../http/interruption.ts'
import type { Input } from '../input/input.ts'
import type {
  Accepted,
  Addressed,
  Authorized,
  Forwarding,
  Handled,
  Matched,
  Received,
  Stage,
  Validated,
  Writable,
} from '../stages/state.ts'
import { redirect, showDocument, showKeys, showLiveness, showOptions, showReadiness } from './built-in.ts'
import { createObject } from './create-object.ts'
import type { HandledRequest, Handler, Services } from './handler.ts'
import { Queues } from './one-at-a-time.ts'
import { listObjects, readObject } from './read-objects.ts'
import { signIn, signOut } from './tokens.ts'
import { deleteObject, patchObject, replaceObject, updateObject } from './write-object.ts'

type RouteState = Received & Matched & Addressed & Forwarding & Accepted & Authorized & Validated
type RouteHandler = Middleware<RouteState & Writable<Handled>>

/** The most decisions about one write whose object changes between the decision and the write. */
const ATTEMPTS = 8

const BUILT_IN: Readonly<Record<string, Handler>> = {
  '/livez': (_, __, decision) => showLiveness(of(decision, 'route').fields),
  '/readyz': (services, _, decision) => showReadiness(services, of(decision, 'route').fields),
  '/openapi.json': (services, request) => showDocument(services, request),
  '/.well-known/jwks.json': (services) => showKeys(services),
  '/api/tokens': (services, request, _, input) => signIn(services, request, of(input, 'body').body),
  '/api/tokens/current': (services, request) => signOut(services, request),
  ...ACCESS_HANDLERS,
}

const BY_OPERATION: Readonly<Record<Operation, Handler>> = {
  list: (services, request, decision, input) =>
    listObjects(services, request, of(decision, 'list'), of(input, 'list').query),
  read: (services, request, decision, input) =>
    readObject(services, request, of(decision, 'read'), of(input, 'item').can),
  create: (services, request, decision, input) =>
    createObject(services, request, of(decision, 'create'), of(input, 'body').body),
  replace: (services, request, decision, input) =>
    replaceObject(services, request, of(decision, 'update'), of(input, 'body').body),
  update: (services, request, decision, input) =>
    input.kind === 'json-patch'
      ? patchObject(services, request, of(decision, 'update'), input.operations)
      : updateObject(services, request, of(decision, 'update'), of(input, 'body').body),
  delete: (services, request, decision) => deleteObject(services, request, of(decision, 'delete')),
  options: (_, { route }) => showOptions(route),
}

export function createRouters(routes: readonly Route[], services: Services, store: Store): Routers {
  const answer = answerWith(services, store)
  return new Routers(routes, (router, path, route) => {
    for (const [method, { operation }] of route.endpoints) {
      serve(router, { path, method }, answer(handlerOf(route, operation)))
    }
  })
}

function serve(router: Router, { path, method }: { path: string; method: Method }, handler: RouteHandler) {
  switch (method) {
    case 'GET':
      return router.get(path, handler)
    case 'POST':
      return router.post(path, handler)
    case 'PUT':
      return router.put(path, handler)
    case 'PATCH':
      return router.patch(path, handler)
    case 'DELETE':
      return router.delete(path, handler)
    case 'OPTIONS':
      return router.options(path, handler)
    case 'HEAD':
      // A router answers HEAD as it answers GET.
      return router
  }
}

/** The last stage: runs the handler of the authorized route. */
export function routes(): Stage<RouteState, Handled> {
  return (ctx, next) => {
    if (ctx.state.forwarded) {
      ctx.state.outcome = admit(ctx.state)
      return
    }
    const handler = ctx.state.layer?.stack[0]
    if (!handler) throw new Error(`no handler is registered for ${ctx.method} ${ctx.state.accepted.match.route.path}`)
    return handler(ctx as RouterContext, next)
  }
}

export function handlerOf(route: Route, operation: Operation): Handler {
  if (operation === 'options') return BY_OPERATION.options
  const { redirect: elsewhere } = route
  if (elsewhere) return (_, request) => redirect(elsewhere, request)
  return BUILT_IN[route.path] ?? BY_OPERATION[operation]
}

/**
 * A handler as Koa middleware. A write whose object has changed is decided again, and retried when it is first in the
 * queue of its object.
 */
function answerWith(services: Services, store: Store): (handler: Handler) => RouteHandler {
  const queues = new Queues()
  return (handler) => async (ctx) => {
    const { state, method } = ctx
    const request = requestOf(state, ctx.res, method as Method, store)
    const handle = () => handler(services, request, state.decision, state.input)
    try {
      state.outcome = await handle()
    } catch (error) {
      if (!(error instanceof StaleObject)) throw error
      const object = 'object' in state.decision ? state.decision.object.id : ''
      state.outcome = await queues.run(`${request.resource.name}/${object}`, () => decideAnew(state, handle))
    }
  }
}

/** No other write of this process can come first meanwhile; a write of another process can. */
async function decideAnew<T>(state: Writable<Authorized>, handle: () => T | Promise<T>): Promise<T> {
  for (let attempt = 2; ; attempt++) {
    // If this decision refuses, the record must not have the evidence of the one before.
    delete (state as Partial<Writable<Authorized>>).decision
    state.decision = await state.decideAnew()
    try {
      return await handle()
    } catch (error) {
      if (!(error instanceof StaleObject) || attempt === ATTEMPTS) throw error
    }
  }
}

function requestOf(state: RouteState, response: ServerResponse, method: Method, store: Store): HandledRequest {
  const { policy, at, accepted, resource, address, input } = state
  const { match, caller } = accepted
  const { route, target } = match
  const { preconditions, idempotencyKey } = input
  return {
    method,
    route,
    resource,
    caller,
    address,
    get gone() {
      return clientGone(response)
    },
    ask: state.ask,
    abilities: state.abilities,
    snapshot: policy.snapshot,
    policy,
    at,
    path: target.path,
    query: target.query,
    writes: createWrites(store, state),
    preconditions,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  }
}

/**
 * The decision, or the input, of the kind that a handler needs; `authorize` and `validate` never leave another kind.
 */
function of<T extends Decision | Input, K extends T['kind']>(found: T, kind: K): Extract<T, { readonly kind: K }> {
  if (found.kind !== kind) throw new Error(`the handler expects ${kind}, but got ${found.kind}`)
  return found as Extract<T, { readonly kind: K }>
}
