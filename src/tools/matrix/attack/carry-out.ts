/** Carries one attack out on a target, and compares what it reached with what the policy says. */

import { randomUUID } from 'node:crypto'
import { isObject } from '../../../base/is-object.ts'
import type { Caller } from '../../../decide/caller.ts'
import { ownerFieldOf } from '../../../decide/relations/ownership.ts'
import type { Json, Representation } from '../../../resources/resource.ts'
import type { PlacedObject } from '../arrange/wanted-object.ts'
import type { Answer, EvaluatedPolicy } from '../predict/answer.ts'
import { predict } from '../predict/answer.ts'
import type { Suite } from '../predict/suite.ts'
import { callerIn, type MatrixColumn, type ObjectState } from '../read/expectation.ts'
import type { Bound } from '../run/bind.ts'
import { type Exchange, exchangeOf } from '../run/result.ts'
import { type CellSetup, ifMatchOf, setUpCell } from '../run/set-up.ts'
import { type HttpRequest, NoAnswer } from '../target/http.ts'
import { CannotSetUp, type TestTarget } from '../target/test-target.ts'
import { differenceOf } from './difference.ts'
import { type Attack, isAnonymous, parentFields, waysToOwn } from './plan-attacks.ts'

/** `same`: as the policy says; `different`: a finding; `impossible`: it could not be tried, which proves nothing. */
export interface Reached {
  readonly attack: Attack
  readonly outcome: 'same' | 'different' | 'impossible'
  /** What the policy says. */
  readonly predicted?: number
  readonly status?: number
  /** One sentence, unless the outcome is `same`. */
  readonly why?: string
  /** For a finding: the request and its answer. */
  readonly exchange?: Exchange
}

export interface AttackContext {
  readonly suite: Suite
  readonly evaluated: EvaluatedPolicy
  readonly target: TestTarget
  /** Milliseconds since the epoch: rules may have an end. */
  readonly now: () => number
}

/** An attack that is ready to send. */
interface Ready {
  readonly request: HttpRequest
  readonly attacker: Caller | undefined
  /** The path's id. */
  readonly id: string | undefined
  /** The stored objects that the attack concerns, with all that their relations rest on. */
  readonly world: readonly PlacedObject[]
  /** Objects that the attacker may see only if the policy allows it. */
  readonly victims: readonly Representation[]
}

/** Rejects only for a bug in this program. */
export async function carryOut(context: AttackContext, attack: Attack): Promise<Reached> {
  try {
    return await send(context, attack, await prepare(context, attack))
  } catch (error) {
    if (!(error instanceof CannotSetUp || error instanceof NoAnswer)) throw error
    return { attack, outcome: 'impossible', why: error.message }
  }
}

async function send(context: AttackContext, attack: Attack, ready: Ready): Promise<Reached> {
  const { target } = context
  const predicted = predictFor(context, attack, ready)
  const request = await withCondition(context, attack, ready)
  const answer = await target.ask(request, predicted.status)
  await target.note(attack.routeMethod.resource.name, answer, ready.request.token)
  const why = differenceOf({ attack, predicted, answer, victims: ready.victims })
  const outcome = { attack, predicted: predicted.status, status: answer.status } as const
  if (why === undefined) return { ...outcome, outcome: 'same' }
  return { ...outcome, outcome: 'different', why, exchange: exchangeOf(request, answer) }
}

async function withCondition(
  { target }: AttackContext,
  { routeMethod }: Attack,
  { request, id }: Ready,
): Promise<HttpRequest> {
  const { route, resource, method } = routeMethod
  const asked = { route, resource, method, id: id === undefined ? undefined : encodeURIComponent(id) }
  return { ...request, headers: await ifMatchOf(target, asked, request) }
}

function predictFor(
  { evaluated, now }: AttackContext,
  { routeMethod }: Attack,
  { request, attacker, id, world }: Ready,
): Answer {
  const body = isObject(request.body ?? null) ? (request.body as Representation) : undefined
  const byResource = [...Map.groupBy(world, ({ resource }) => resource)]
  const stored = new Map(
    byResource.map(([name, some]) => [name, new Map(some.map(({ object }) => [String(object.id), object]))]),
  )
  return predict({ evaluated, routeMethod, caller: attacker, id, body, objects: stored, conditional: true, now: now() })
}

function prepare(context: AttackContext, attack: Attack): Promise<Ready> {
  switch (attack.vector) {
    case 'id in path':
      return aimAtObject(context, attack)
    case 'owner in query':
      return aimAtList(context, attack)
    default:
      return aimFromOwn(context, attack)
  }
}

/** The victim's request as it is, with the attacker's credentials. */
async function aimAtObject(context: AttackContext, attack: Attack): Promise<Ready> {
  const setup = await setUpFor(context, attack, attack.victim)
  const attacker = await attackerOf(context, attack)
  const objects = setup.placed.map(({ object }) => object)
  const request = requestOf(context, attack, { ...setup, token: attacker?.token })
  return { request, attacker: attacker?.caller, id: String(objects[0]?.id), world: setup.world, victims: objects }
}

/** The list, filtered to the victim's objects. */
async function aimAtList(context: AttackContext, attack: Attack): Promise<Ready> {
  const setup = await setUpCell(context.suite, context.target, boundOf(context.suite, attack, attack.victim, 'all'))
  const attacker = await attackerOf(context, attack)
  const victims = setup.placed.flatMap(({ object, own }) => (own ? [object] : []))
  const name = attack.routeMethod.resource.name
  const world = setup.world.filter(({ resource, object }) => resource !== name || victims.includes(object))
  const field = ownerField(context.suite, attack)
  const query = `?${field}=${encodeURIComponent(setup.caller?.id ?? '')}&limit=${context.suite.policy.limits.page.max}`
  const request = requestOf(context, attack, { path: setup.path + query, body: undefined, token: attacker?.token })
  return { request, attacker: attacker?.caller, id: undefined, world, victims }
}

/** The attacker's own request, with one of the victim's ids inserted. */
async function aimFromOwn(context: AttackContext, attack: Attack): Promise<Ready> {
  const other = await setUpFor(context, { ...attack, routeMethod: itemMethod(attack) }, attack.victim)
  const victims = other.placed.map(({ object }) => object)
  const setup = await setUpFor(context, attack, attack.attacker)
  const [victim] = victims
  const objects = setup.placed.map(({ object }) => object)
  const caller = setup.caller && callerIn(attack.attacker, setup.caller.id)
  const query = attack.vector === 'id in query' ? `?id=${encodeURIComponent(String(victim?.id ?? randomUUID()))}` : ''
  const body = withVictim(context, attack, setup, victim)
  const request = requestOf(context, attack, { path: setup.path + query, body, token: setup.caller?.token })
  const id = attack.routeMethod.route.kind === 'item' ? String(objects[0]?.id) : undefined
  return { request, attacker: caller, id, world: [...setup.world, ...other.world], victims }
}

function withVictim(
  { suite }: AttackContext,
  attack: Attack,
  { body }: CellSetup,
  victim: Representation | undefined,
): Json | undefined {
  if (!isObject(body ?? null)) return body
  const own = body as Representation
  const field = ownerField(suite, attack)
  if (attack.vector === 'parent in body') return { ...own, ...parentsOf(suite, attack, victim) }
  if (attack.vector === 'id in body') return { ...own, id: victim?.id ?? randomUUID() }
  return attack.vector === 'owner in body' && field !== undefined
    ? { ...own, [field]: victim?.[field] ?? randomUUID() }
    : own
}

/** The parents of the victim's object: a write with them moves an object there, or creates one there. */
function parentsOf({ policy }: Suite, { routeMethod }: Attack, victim: Representation = {}): Representation {
  const fields = parentFields(policy, routeMethod.resource)
  return Object.fromEntries(Object.entries(victim).filter(([name]) => fields.includes(name)))
}

/** The item route on which the victim's object is made, because a collection's path names no object. */
function itemMethod({ routeMethod }: Attack): Attack['routeMethod'] {
  const route = routeMethod.resource.routes.find(({ kind, redirect }) => kind === 'item' && !redirect)
  return routeMethod.route.kind === 'collection' && route ? { ...routeMethod, route } : routeMethod
}

function setUpFor({ suite, target }: AttackContext, attack: Attack, column: MatrixColumn): Promise<CellSetup> {
  return setUpCell(suite, target, boundOf(suite, attack, column))
}

/** The cell that describes the setup. */
function boundOf(suite: Suite, { routeMethod, relations }: Attack, column: MatrixColumn, list?: 'all'): Bound {
  const owned = relations.length > 0 ? relations : (waysToOwn(suite, routeMethod.resource, false)[0] ?? [])
  const own: ObjectState = owned.length > 0 ? { kind: 'relations', names: owned } : { kind: 'other' }
  const object: ObjectState = routeMethod.route.kind === 'collection' ? { kind: 'none' } : own
  const place = { file: '', line: 1, column: 1 }
  const { route, resource, endpoint, method } = routeMethod
  const expectation = {
    place,
    method,
    path: route.path,
    object,
    column,
    expected: { status: 200, ...(list ? { list } : {}) },
  }
  return { expectation, route, resource, endpoint, body: undefined, view: undefined }
}

function ownerField({ policy }: Suite, { routeMethod }: Attack): string | undefined {
  return ownerFieldOf(routeMethod.resource, policy.ownership.get(routeMethod.resource.name))?.name
}

async function attackerOf({ target }: AttackContext, { attacker }: Attack) {
  if (isAnonymous(attacker)) return undefined
  const { id, token } = await target.caller(attacker)
  return { token, caller: callerIn(attacker, id) }
}

function requestOf(
  { target }: AttackContext,
  { routeMethod }: Attack,
  { path, body, token }: { readonly path: string; readonly body: Json | undefined; readonly token: string | undefined },
): HttpRequest {
  return { method: routeMethod.method, url: target.url + path, body, token }
}
