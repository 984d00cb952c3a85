/**
 * The answer that the server must give to one request. The kernel decides about objects in memory, and this file adds
 * the rules of HTTP. Random tests compare it with the server (test/matrix/predict/random.test.ts).
 */
import { isDeepStrictEqual } from 'node:util'
import { v7 as uuidv7 } from 'uuid'
import { CATALOGUE } from '../../../base/problems/catalogue.ts'
import type { Caller } from '../../../decide/caller.ts'
import type { RouteMethod } from '../../../decide/callers-and-routes.ts'
import { lookUpIn, meets } from '../../../decide/conditions/condition.ts'
import { decide } from '../../../decide/decide.ts'
import type { CreateDecision, Decision, UpdateDecision } from '../../../decide/decision.ts'
import { type FactsAtHand, withFacts } from '../../../decide/facts.ts'
import { type DirectPolicy, directPolicy } from '../../../decide/grants/direct.ts'
import type { ListDecision } from '../../../decide/grants/list-decision.ts'
import { createdObject, updatedObject } from '../../../decide/permits/permit.ts'
import { proposeNew, proposeReplacement, proposeUpdate } from '../../../decide/permits/propose.ts'
import type { Policy } from '../../../decide/policy.ts'
import { isRefusal, problemCodeOf, type Refusal } from '../../../decide/refusal.ts'
import { livingAt } from '../../../decide/rules/rule-expiry.ts'
import { documentPart, represent, type StoredObject } from '../../../resources/object.ts'
import type { Json, Representation, Resource, Resources } from '../../../resources/resource.ts'
import { redirectStatus, successStatus } from '../../../resources/routing/success-status.ts'

/** A policy for predictions: its files without expired rules, and what these rules grant. */
export interface EvaluatedPolicy {
  readonly policy: Policy
  readonly grants: DirectPolicy
}

/** `now` is milliseconds since the epoch: a rule may have an end. */
export function evaluatePolicy(policy: Policy, resources: Resources, now: number): EvaluatedPolicy {
  const living = livingAt(policy, now)
  return { policy: living, grants: directPolicy(living, resources) }
}

/** The objects of the store, by resource and id. */
export type Objects = ReadonlyMap<string, ReadonlyMap<string, Representation>>

/** A request, and all that its answer depends on. */
export interface PredictedRequest {
  readonly evaluated: EvaluatedPolicy
  readonly routeMethod: RouteMethod
  /** Undefined without credentials. */
  readonly caller: Caller | undefined
  /** The path's `{id}`; undefined where the path has none. */
  readonly id: string | undefined
  /** Undefined where the request has none. */
  readonly body: Readonly<Record<string, Json>> | undefined
  readonly objects: Objects
  /** The names of the conditions that hold, where they are supposed; otherwise they follow from the caller. */
  readonly holding?: readonly string[]
  /** Whether the request names the object's current tag in `If-Match`. */
  readonly conditional?: boolean
  /** Whether a gateway asks, and proves that it is one; the requests of a matrix never do. */
  readonly provesGateway?: boolean
  /** Milliseconds since the epoch: a route may have an end. */
  readonly now: number
}

/** The server's answer; for an object, only the fields that are shown. */
export interface Answer {
  readonly status: number
  readonly shown?: Representation | undefined
  /** The object whose fields `shown` has. */
  readonly of?: Representation
  /** The rows of a list, in no order. */
  readonly items?: readonly { readonly object: Representation; readonly shown: Representation }[]
  /** The object that a write leaves in the store; undefined for a deleted one. */
  readonly written?: { readonly id: string; readonly object: Representation | undefined }
}

/** Method and path are known to be accepted. */
export function predict(request: PredictedRequest): Answer {
  const { evaluated, routeMethod, caller, id, objects, now, holding, provesGateway } = request
  const { route, endpoint, resource } = routeMethod
  const { sunsetAt } = route.lifecycle ?? {}
  if (sunsetAt !== undefined && now >= sunsetAt) return { status: 410 }
  // What proves no gateway is refused before the caller is looked at.
  if (route.gateway && !provesGateway) return { status: CATALOGUE['gateway-refused'].status }
  const subject = evaluated.grants.subjectOf(caller)
  const question = { route, endpoint, resource, subject, blocked: false, id, now, holding }
  const decision = withFacts(decide(question, evaluated.grants), factsIn(objects))
  return isRefusal(decision) ? refused(request, decision) : carryOut(request, decision)
}

function factsIn(objects: PredictedRequest['objects']) {
  return {
    user: (userId) => storedIn(objects, 'users', userId),
    object: (name, objectId) => storedIn(objects, name, objectId),
    lookup: lookUpIn((name) => objects.get(name)?.values() ?? []),
  } satisfies FactsAtHand
}

/** The answer to a write shows what a read right after would. */
function factsAfter({ objects, routeMethod }: PredictedRequest, { id, object }: WrittenObject) {
  const { name } = routeMethod.resource
  return factsIn(new Map(objects).set(name, new Map(objects.get(name)).set(id, object)))
}

interface WrittenObject {
  readonly id: string
  readonly object: Representation
}

function carryOut(request: PredictedRequest, decision: Decision): Answer {
  switch (decision.kind) {
    case 'route':
      return answerRoute(request, decision.fields)
    case 'list':
      return answerList(request, decision)
    case 'create':
      return request.body ? answerCreate(request, decision, request.body) : UNSUPPORTED
    case 'update':
      return request.body ? answerUpdate(request, decision, request.body) : UNSUPPORTED
    case 'read':
      return { status: successStatus('read'), shown: decision.representation, of: represent(decision.object) }
    case 'delete':
      if (lacksPrecondition(request)) return { status: 428 }
      return { status: successStatus('delete'), written: { id: decision.object.id, object: undefined } }
  }
}

/** A request without a body has no media type. */
const UNSUPPORTED: Answer = { status: 415 }

function refused({ caller }: PredictedRequest, refusal: Refusal): Answer {
  return { status: CATALOGUE[problemCodeOf(refusal, caller ? 'caller' : 'anonymous')].status }
}

/** OPTIONS, redirects, and the built-in routes. */
function answerRoute({ routeMethod, body }: PredictedRequest, fields: ReadonlySet<string>): Answer {
  const { endpoint, route, resource } = routeMethod
  if (endpoint.operation === 'options') return { status: successStatus('options') }
  if (route.redirect) return { status: redirectStatus(route.redirect, routeMethod.method) }
  if (route.exchange) return { status: body && route.exchange.faults(body).length === 0 ? 200 : 400 }
  if (!resource.takes) return { status: 200, shown: Object.fromEntries([...fields].map((field) => [field, ''])) }
  // Sign-in and sign-out: in memory there are no passwords and no sessions.
  if (endpoint.operation === 'delete') return { status: 404 }
  return { status: resource.validate(body ?? {}).length > 0 ? 400 : 401 }
}

function answerList({ objects, routeMethod }: PredictedRequest, decision: ListDecision): Answer {
  const { lookup } = factsIn(objects)
  const listed = [...(objects.get(routeMethod.resource.name)?.values() ?? [])].filter((one) =>
    meets(decision.where, one, lookup),
  )
  const fields = decision.rowFields()
  const marksOf = (object: Representation) => decision.marks.map((mark) => meets(mark, object, lookup))
  const shown = (object: Representation) =>
    cut(object, fields.kind === 'alike' ? fields.fields : fields.of(object, marksOf(object)))
  return { status: successStatus('list'), items: listed.map((object) => ({ object, shown: shown(object) })) }
}

function answerCreate(
  request: PredictedRequest,
  decision: CreateDecision,
  body: Readonly<Record<string, Json>>,
): Answer {
  const { routeMethod, now, objects } = request
  const facts = factsIn(objects)
  const time = new Date(now).toISOString()
  const server = { id: uuidv7(), filled: decision.filled, now: time }
  const permit = withFacts(decision.permit(proposeNew(routeMethod.resource, body, server)), facts)
  if (isRefusal(permit)) return refused(request, permit)
  const object = createdObject(permit, time)
  const of = represent(object)
  if (isTaken(request, routeMethod.resource, of)) return { status: 409 }
  const written = { id: object.id, object: of }
  const shown = withFacts(decision.show(object), factsAfter(request, written))
  return { status: successStatus('create'), shown, of, written }
}

function answerUpdate(
  request: PredictedRequest,
  decision: UpdateDecision,
  body: Readonly<Record<string, Json>>,
): Answer {
  const { resource, endpoint } = request.routeMethod
  const { object: before, writable, readable, filled } = decision
  const facts = factsIn(request.objects)
  const stored = represent(before)
  const proposal =
    endpoint.operation === 'update'
      ? proposeUpdate(resource, body, stored)
      : proposeReplacement(resource, body, { before: stored, writable, readable, filled })
  const permit = withFacts(decision.permit(proposal), facts)
  if (isRefusal(permit)) return refused(request, permit)
  if (lacksPrecondition(request)) return { status: 428 }
  // A proposal without changes isn't written.
  const isSame = isDeepStrictEqual(permit.document, before.document)
  const object = isSame ? before : updatedObject(permit, before, new Date(request.now).toISOString())
  const of = represent(object)
  if (isTaken(request, resource, of)) return { status: 409 }
  const written = { id: object.id, object: of }
  const shown = withFacts(decision.show(object), factsAfter(request, written))
  const status = successStatus('update', shown !== undefined)
  return shown ? { status, shown, of, written } : { status, written }
}

/** Whether another object has one of these values in a unique field. */
function isTaken({ objects }: PredictedRequest, { name, fields }: Resource, object: Representation): boolean {
  const unique = [...fields.values()].filter((field) => field.unique && Object.hasOwn(object, field.name))
  const others = [...(objects.get(name)?.values() ?? [])].filter(({ id }) => id !== object.id)
  return others.some((other) => unique.some((field) => other[field.name] === object[field.name]))
}

/** Whether the route requires `If-Match` and the request has none. */
function lacksPrecondition({ routeMethod, conditional }: PredictedRequest): boolean {
  return routeMethod.route.precondition === 'required' && !conditional
}

function cut(object: Representation, fields: ReadonlySet<string>): Representation {
  return Object.fromEntries(Object.entries(object).filter(([field]) => fields.has(field)))
}

/** Each object as the kernel takes it, made once. */
const stored = new WeakMap<Representation, StoredObject>()

function storedIn(objects: Objects, resource: string, id: string): StoredObject | undefined {
  const object = objects.get(resource)?.get(id)
  if (!object) return undefined
  const known = stored.get(object)
  if (known) return known
  const { createdAt, updatedAt } = object
  const made = {
    id: String(object.id),
    version: 1,
    createdAt: String(createdAt),
    updatedAt: String(updatedAt),
    document: documentPart(object),
  }
  stored.set(object, made)
  return made
}
