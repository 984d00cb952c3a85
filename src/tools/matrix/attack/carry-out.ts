/** Carries one attack out on a stage, and compares what it reached with what the policy says. */
import { randomUUID } from 'node:crypto'
import type { Json, Representation } from '../../../resources/resource.ts'
import { isObject } from '../../../resources/schema/subschemas.ts'
import { predict } from '../predict/answer.ts'
import type { Grants } from '../predict/grants.ts'
import type { Answer } from '../predict/situation.ts'
import type { Column, ObjectState } from '../read/expectation.ts'
import type { Bound, Ground } from '../run/bind.ts'
import { conditionOf } from '../run/current-tag.ts'
import { exchangeOf } from '../run/result.ts'
import { type Scene, setUp } from '../run/set-up.ts'
import { type HttpRequest, NoAnswer } from '../target/http.ts'
import { CannotSetUp, type Stage } from '../target/server-under-test.ts'
import type { Attack, Reached } from './attack.ts'
import { differenceOf } from './difference.ts'
import { isAnonymous } from './plan-attacks.ts'

export interface Raid {
  readonly ground: Ground
  readonly grants: Grants
  readonly stage: Stage
  /** Milliseconds since the epoch: rules may have an end. */
  readonly now: () => number
}

/** An attack that is ready to be sent. */
interface Ready {
  readonly request: HttpRequest
  readonly attacker: { readonly id: string; readonly roles: readonly string[] } | undefined
  /** The path's id. */
  readonly id: string | undefined
  /** What is in the store, as far as the attack concerns it. */
  readonly objects: readonly Representation[]
  /** What only the policy may let the attacker see. */
  readonly victims: readonly Representation[]
}

/** Never rejects but for a fault of the program. */
export async function carryOut(raid: Raid, attack: Attack): Promise<Reached> {
  try {
    return await send(raid, attack, await prepare(raid, attack))
  } catch (error) {
    if (!(error instanceof CannotSetUp || error instanceof NoAnswer)) throw error
    return { attack, outcome: 'impossible', why: error.message }
  }
}

async function send(raid: Raid, attack: Attack, ready: Ready): Promise<Reached> {
  const { stage } = raid
  const predicted = predictFor(raid, attack, ready)
  const request = await withCondition(raid, attack, ready)
  const answer = await stage.ask(request, predicted.status)
  await stage.note(attack.spot.resource.name, answer, ready.request.token)
  const why = differenceOf({ attack, predicted, answer, victims: ready.victims })
  const outcome = { attack, predicted: predicted.status, status: answer.status } as const
  if (why === undefined) return { ...outcome, outcome: 'same' }
  return { ...outcome, outcome: 'different', why, exchange: exchangeOf(request, answer) }
}

async function withCondition({ stage }: Raid, { spot }: Attack, { request, id }: Ready): Promise<HttpRequest> {
  const { route, resource, method } = spot
  const asked = { route, resource, method, id: id === undefined ? undefined : encodeURIComponent(id) }
  return { ...request, headers: await conditionOf(stage, asked, request) }
}

function predictFor({ grants, now }: Raid, { spot }: Attack, { request, attacker, id, objects }: Ready): Answer {
  const body = isObject(request.body ?? null) ? (request.body as Representation) : undefined
  const stored = new Map([[spot.resource.name, new Map(objects.map((object) => [String(object.id), object]))]])
  return predict({ grants, spot, asker: attacker, id, body, objects: stored, conditional: true, now: now() })
}

function prepare(raid: Raid, attack: Attack): Promise<Ready> {
  switch (attack.vector) {
    case 'id in path':
      return aimAtObject(raid, attack)
    case 'owner in query':
      return aimAtList(raid, attack)
    default:
      return aimFromOwn(raid, attack)
  }
}

/** The victim's request as it is, with the attacker's credentials. */
async function aimAtObject(raid: Raid, attack: Attack): Promise<Ready> {
  const scene = await sceneOf(raid, attack, attack.victim)
  const attacker = await attackerOf(raid, attack)
  const objects = scene.placed.map(({ object }) => object)
  const request = requestOf(raid, attack, { ...scene, token: attacker?.token })
  return { request, attacker: attacker?.asker, id: String(objects[0]?.id), objects, victims: objects }
}

/** The list, narrowed to what is the victim's. */
async function aimAtList(raid: Raid, attack: Attack): Promise<Ready> {
  const scene = await setUp(raid.ground, raid.stage, boundOf(raid.ground, attack, attack.victim, 'all'))
  const attacker = await attackerOf(raid, attack)
  const objects = scene.placed.flatMap(({ object, own }) => (own ? [object] : []))
  const field = ownerField(raid.ground, attack)
  const query = `?${field}=${encodeURIComponent(scene.caller?.id ?? '')}&limit=${raid.ground.policy.limits.page.max}`
  const request = requestOf(raid, attack, { path: scene.path + query, body: undefined, token: attacker?.token })
  return { request, attacker: attacker?.asker, id: undefined, objects, victims: objects }
}

/** A request of the attacker's own, with an id of the victim's put into it. */
async function aimFromOwn(raid: Raid, attack: Attack): Promise<Ready> {
  const victims = (await sceneOf(raid, { ...attack, spot: itemSpot(attack) }, attack.victim)).placed.map(
    ({ object }) => object,
  )
  const scene = await sceneOf(raid, attack, attack.attacker)
  const [victim] = victims
  const objects = scene.placed.map(({ object }) => object)
  const asker =
    scene.caller && !isAnonymous(attack.attacker) ? { id: scene.caller.id, roles: attack.attacker.roles } : undefined
  const query = attack.vector === 'id in query' ? `?id=${encodeURIComponent(String(victim?.id ?? randomUUID()))}` : ''
  const body = withVictim(raid, attack, scene, victim)
  const request = requestOf(raid, attack, { path: scene.path + query, body, token: scene.caller?.token })
  const id = attack.spot.route.kind === 'item' ? String(objects[0]?.id) : undefined
  return { request, attacker: asker, id, objects: [...objects, ...victims], victims }
}

function withVictim(
  { ground }: Raid,
  attack: Attack,
  { body }: Scene,
  victim: Representation | undefined,
): Json | undefined {
  if (!isObject(body ?? null)) return body
  const own = body as Representation
  const field = ownerField(ground, attack)
  if (attack.vector === 'id in body') return { ...own, id: victim?.id ?? randomUUID() }
  return attack.vector === 'owner in body' && field !== undefined
    ? { ...own, [field]: victim?.[field] ?? randomUUID() }
    : own
}

/** Where the victim's object is made: a collection names none. */
function itemSpot({ spot }: Attack): Attack['spot'] {
  const route = spot.resource.routes.find(({ kind, redirect }) => kind === 'item' && !redirect)
  return spot.route.kind === 'collection' && route ? { ...spot, route } : spot
}

function sceneOf({ ground, stage }: Raid, attack: Attack, column: Column): Promise<Scene> {
  return setUp(ground, stage, boundOf(ground, attack, column))
}

/** The cell that would set the scene up. */
function boundOf(ground: Ground, { spot, relations }: Attack, column: Column, list?: 'all'): Bound {
  const owned = relations.length > 0 ? relations : ownerOnly(ground, spot.resource.name)
  const own: ObjectState = owned.length > 0 ? { kind: 'relations', names: owned } : { kind: 'other' }
  const object: ObjectState = spot.route.kind === 'collection' ? { kind: 'none' } : own
  const place = { file: '', line: 1, column: 1 }
  const { route, resource, endpoint, method } = spot
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

function ownerOnly({ policy }: Ground, resource: string): readonly string[] {
  return policy.ownership.get(resource)?.relations.has('owner') ? ['owner'] : []
}

function ownerField({ policy }: Ground, { spot }: Attack): string | undefined {
  return policy.ownership.get(spot.resource.name)?.relations.get('owner')?.field
}

async function attackerOf({ stage }: Raid, { attacker }: Attack) {
  if (isAnonymous(attacker)) return undefined
  const { id, token } = await stage.caller(attacker)
  return { token, asker: { id, roles: attacker.roles } }
}

function requestOf(
  { stage }: Raid,
  { spot }: Attack,
  { path, body, token }: { readonly path: string; readonly body: Json | undefined; readonly token: string | undefined },
): HttpRequest {
  return { method: spot.method, url: stage.url + path, body, token }
}
