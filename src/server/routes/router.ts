/** Registers a handler in @koa/router for each method that a route accepts. */
import type { RouterContext } from '@koa/router'
import type { Middleware } from 'koa'
import { Queues } from '../../base/queues.ts'
import { callerKey } from '../../decide/caller.ts'
import type { Decision } from '../../decide/decision.ts'
import { abilitiesOf } from '../../decide/grants/abilities.ts'
import { ACCESS_REQUESTS_PATH } from '../../resources/built-in/access-requests.ts'
import { BATCH_PATH } from '../../resources/built-in/batch.ts'
import { POLICY_QUESTIONS } from '../../resources/built-in/policy-questions.ts'
import type { Method, Operation, Route } from '../../resources/resource.ts'
import { Routers } from '../../resources/routing/match-route.ts'
import type { Store } from '../../store/contract.ts'
import { StaleObject } from '../../store/errors.ts'
import { createWrites } from '../answers/record.ts'
import { admit } from '../authzen/forward.ts'
import { ACCESS_HANDLERS } from '../authzen/routes.ts'
import { sendBatch } from '../batch/send-batch.ts'
import type { EventHub } from '../events/event-hub.ts'
import { clientGone } from '../http/http-server.ts'
import type { Input } from '../input/input.ts'
import { answerQuestion } from '../questions/answer-question.ts'
import { askFacts, decideRequest, questionAsked, type WriteGate, whoseOf } from '../stages/authorize.ts'
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
import { makeRequest, showRequests } from './access-requests.ts'
import { redirect, showDocument, showKeys, showLiveness, showOptions, showReadiness } from './built-in.ts'
import { createObject } from './create-object.ts'
import type { HandledRequest, Handler, Outcome, Services } from './handler.ts'
import { listObjects, readObject } from './read-objects.ts'
import { runCommand } from './run-command.ts'
import { showHistory } from './show-history.ts'
import { signIn, signOut } from './tokens.ts'
import { watchObjects } from './watch-objects.ts'
import { deleteObject, patchObject, replaceObject, updateObject } from './write-object.ts'

type RouteState = Received & Matched & Addressed & Forwarding & Accepted & Authorized & Validated
/** Where handlers read and write. */
type HandlerGate = WriteGate & { readonly store: Store; readonly events?: EventTeller | undefined }

/** Who tells events to those who follow them. */
export type EventTeller = Pick<EventHub, 'enter' | 'follow'>

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
  ...Object.fromEntries(
    POLICY_QUESTIONS.routes.map(({ path }): [string, Handler] => [
      path,
      (services, request, _, input) => answerQuestion(services, request, input),
    ]),
  ),
  [BATCH_PATH]: (services, request, _, input) => sendBatch(services, request, of(input, 'body').body),
  [ACCESS_REQUESTS_PATH]: (services, request, _, input) =>
    input.kind === 'body' ? makeRequest(services, request, input.body) : showRequests(services, request),
}

const BY_OPERATION: Readonly<Record<Operation, Handler>> = {
  list: (services, request, decision, input) =>
    listObjects(services, request, of(decision, 'list'), of(input, 'list').query),
  read: (services, request, decision, input) => readObject(services, request, of(decision, 'read'), of(input, 'item')),
  create: (services, request, decision, input) =>
    createObject(services, request, of(decision, 'create'), of(input, 'body').body),
  replace: (services, request, decision, input) =>
    replaceObject(services, request, of(decision, 'update'), of(input, 'body').body),
  update: (services, request, decision, input) =>
    input.kind === 'json-patch'
      ? patchObject(services, request, of(decision, 'update'), input.operations)
      : updateObject(services, request, of(decision, 'update'), of(input, 'body').body),
  delete: (services, request, decision) => deleteObject(services, request, of(decision, 'delete')),
  watch: (_, request, decision, input) => watchObjects(request, of(decision, 'watch'), of(input, 'list').query),
  options: (_, { route }) => showOptions(route),
}

export function createRouters(routes: readonly Route[], services: Services, gate: HandlerGate): Routers {
  const answer = answerWith(services, gate)
  return new Routers(routes, (router, path, route) => {
    for (const [method, { operation }] of route.endpoints) {
      // A router answers HEAD as it answers GET.
      if (method !== 'HEAD') router.register(path, [method], answer(handlerOf(route, operation)))
    }
  })
}

/** The last stage: runs the handler of the authorized route. */
export function routes(): Stage<RouteState, Handled> {
  return (ctx, next) => {
    if (ctx.state.forwarded) {
      ctx.state.outcome = admit(ctx.state)
      return
    }
    ctx.newRouterPath = ctx.state.accepted.match.target.path
    return ctx.state.routes?.(ctx as RouterContext, next)
  }
}

function handlerOf(route: Route, operation: Operation): Handler {
  if (operation === 'options') return BY_OPERATION.options
  const { redirect: elsewhere } = route
  if (elsewhere) return (_, request) => redirect(elsewhere, request)
  if (route.command) {
    return (services, request, decision, input) =>
      runCommand(services, request, of(decision, 'update'), of(input, 'body').body)
  }
  if (route.history) {
    return (services, request, decision, input) =>
      showHistory(services, request, of(decision, 'read'), of(input, 'history'))
  }
  // A schema file may have the path of batches.
  return (route.resource.startsWith('system/') && BUILT_IN[route.path]) || BY_OPERATION[operation]
}

/** A handler as Koa middleware, on the decision of `authorize`. */
function answerWith(services: Services, gate: HandlerGate): (handler: Handler) => RouteHandler {
  const queues = new Queues()
  return (handler) => async (ctx) => {
    const { state } = ctx
    const request = requestOf(ctx, gate)
    try {
      state.outcome = await handler(services, request, state.decision, state.input)
    } catch (error) {
      if (!(error instanceof StaleObject)) throw error
      const object = 'object' in state.decision ? state.decision.object.id : ''
      state.outcome = await queues.run(`${request.resource.name}/${object}`, () =>
        handleAnew(state, gate, (decision) => handler(services, request, decision, state.input)),
      )
    }
  }
}

/**
 * A write whose object has changed is decided again when it is first in the queue of its object. No other write of this
 * process can come first meanwhile; a write of another process can.
 */
async function handleAnew(
  state: RouteState & Writable<Partial<Handled>>,
  gate: HandlerGate,
  handle: (decision: Decision) => Outcome | Promise<Outcome>,
): Promise<Outcome> {
  for (let attempt = 2; ; attempt++) {
    // If this decision refuses, the record must not have the evidence of the one before.
    state.again = {}
    const decision = await decideRequest(gate, state.policy, state.accepted)
    state.again = { decision }
    try {
      return await handle(decision)
    } catch (error) {
      if (!(error instanceof StaleObject) || attempt === ATTEMPTS) throw error
    }
  }
}

function requestOf({ state, method, req, res }: Parameters<RouteHandler>[0], gate: HandlerGate): HandledRequest {
  const { policy, at, accepted, resource, address, input } = state
  const { match, caller } = accepted
  const { route, target } = match
  const { preconditions, idempotencyKey } = input
  return {
    method: method as Method,
    route,
    resource,
    caller,
    address,
    gone: () => clientGone(res),
    received: () => ({ requestId: state.requestId, req, res }),
    events: () => {
      const { events } = gate
      // A command doesn't wait for what comes.
      if (!events) return { enter: () => () => {}, follow: (response) => response.end() }
      return {
        enter: () => events.enter(callerKey({ caller, address })),
        follow: (response, asked) =>
          void events.follow(response, {
            ...asked,
            accepted,
            credentials: state.credentials,
            policy,
            requestId: state.requestId,
            writer: callerKey({ caller, address }),
          }),
      }
    },
    asked: () => questionAsked(gate, policy, accepted),
    resources: gate.resources,
    ask: (steps, written) => askFacts(gate, accepted, steps, written),
    abilities: () =>
      gate.slices.decide(
        () => whoseOf(accepted),
        () => clientGone(res),
        () => askFacts(gate, accepted, abilitiesOf(questionAsked(gate, policy, accepted), policy.snapshot)),
      ),
    snapshot: policy.snapshot,
    policy,
    at,
    path: target.path,
    query: target.query,
    writes: () => createWrites(gate.store, state),
    preconditions,
    idempotencyKey,
  }
}

/**
 * The decision, or the input, of the kind that a handler needs; `authorize` and `validate` never provide another kind.
 */
function of<T extends Decision | Input, K extends T['kind']>(found: T, kind: K): Extract<T, { readonly kind: K }> {
  if (found.kind !== kind) throw new Error(`the handler expects ${kind}, but got ${found.kind}`)
  return found as Extract<T, { readonly kind: K }>
}
