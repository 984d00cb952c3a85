/** Makes an attack ready to send: the people and objects that it needs, and the request. */
import { randomUUID } from 'node:crypto'
import { isObject } from '../../../base/is-object.ts'
import type { Caller } from '../../../decide/caller.ts'
import { ownerFieldOf } from '../../../decide/relations/ownership.ts'
import type { Json, Representation } from '../../../resources/resource.ts'
import type { PlacedObject } from '../arrange/arrange-object.ts'
import type { CellSetup } from '../run/set-up.ts'
import type { HttpRequest } from '../target/http.ts'
import { type AttackSetting, callerOf, makeAttacker, setUpAttacker, setUpVictim } from './cast.ts'
import { type Attack, isAnonymous } from './plan-attacks.ts'
import { rowFor } from './references.ts'
import { type Predicted, waysTo, wayToCreate } from './ways.ts'

/** An attack that is ready to send. */
export interface Ready {
  readonly request: HttpRequest
  readonly attacker: Caller | undefined
  /** The path's id. */
  readonly id: string | undefined
  /** The stored objects that the attack concerns, with all that their relations rest on. */
  readonly world: readonly PlacedObject[]
  /** Objects that the attacker may see only if the policy allows it. */
  readonly victims: readonly Representation[]
}

export interface Range extends AttackSetting {
  readonly predicted: Predicted
}

/** The objects of the victim, and all that was made for them. */
interface VictimSide {
  readonly setup: CellSetup
  readonly victims: readonly Representation[]
}

/** Throws CannotSetUp. */
export async function aim(range: Range, attack: Attack): Promise<Ready> {
  const { vector, short } = attack
  if (short) return aimShort(range, attack, short.way)
  const side = await victimOf(range, attack)
  if (vector === 'id in path') return aimAtObject(range, attack, side)
  if (vector.endsWith('in query') && vector !== 'id in query') return aimAtList(range, attack, side)
  return aimFromOwn(range, attack, side)
}

/** Where the query names an owner, the list of all that the victim relates to; otherwise the victim's object. */
async function victimOf(range: Range, { vector, routeMethod, home, victim: column, way }: Attack): Promise<VictimSide> {
  const isOwned = vector === 'owner in query'
  const asks = { list: { kind: 'all' } } as const
  const setup = await setUpVictim(
    range,
    isOwned ? { routeMethod, column, way, asks } : { routeMethod: home, column, way },
  )
  const theirs = setup.placed.filter(({ relations }) => !isOwned || relations.has('owner'))
  return { setup, victims: theirs.map(({ object }) => object) }
}

/** The victim's request as it is, with the attacker's credentials. */
async function aimAtObject(range: Range, attack: Attack, { setup, victims }: VictimSide): Promise<Ready> {
  const attacker = await makeAttacker(range, attack, setup)
  const request = requestOf(range, attack, { ...setup, token: attacker?.token })
  const world = [...setup.world, ...(attacker?.known ?? [])]
  return { request, attacker: attacker && callerOf(attack, attacker.id), id: idOf(victims), world, victims }
}

/** The list, filtered to what the victim owns, or to the value that the victim's object has. */
async function aimAtList(range: Range, attack: Attack, { setup, victims }: VictimSide): Promise<Ready> {
  const { route, resource } = attack.routeMethod
  const { policy } = range.suite
  const owner = ownerFieldOf(resource, policy.ownership.get(resource.name))?.name
  const field = attack.reference?.field ?? owner ?? ''
  const [theirs = randomUUID()] = [victims[0]?.[field] ?? randomUUID()].flat()
  const value = attack.reference ? String(theirs) : (setup.caller?.id ?? '')
  const attacker = await makeAttacker(range, attack, setup)
  const others = [...setup.world, ...(attacker?.known ?? [])]
  const listed = others.filter(({ resource: name, object }) => name !== resource.name || victims.includes(object))
  // The record of the attacker decides the attributes, whether or not the list has it.
  const records = (attacker?.known ?? []).filter((one) => !listed.includes(one))
  const query = `?${field}=${encodeURIComponent(value)}&limit=${policy.limits.page.max}`
  const request = requestOf(range, attack, { path: route.path + query, body: undefined, token: attacker?.token })
  const caller = attacker && callerOf(attack, attacker.id)
  return { request, attacker: caller, id: undefined, world: [...listed, ...records], victims }
}

/** The attacker's own request, with one of the victim's ids or values inserted, or a row that names both. */
async function aimFromOwn(range: Range, attack: Attack, { setup: other, victims }: VictimSide): Promise<Ready> {
  const setup = await setUpAttacker(range, attack, await ownPart(range, attack), other)
  const [victim] = victims
  const own = setup.placed.map(({ object }) => object)
  const query = attack.vector === 'id in query' ? `?id=${encodeURIComponent(String(victim?.id ?? randomUUID()))}` : ''
  const body = withVictim(range, attack, { setup, own: own[0], victim })
  const request = requestOf(range, attack, { path: setup.path + query, body, token: setup.caller?.token })
  const attacker = setup.caller && callerOf(attack, setup.caller.id)
  const id = attack.routeMethod.route.kind === 'item' ? idOf(own) : undefined
  return { request, attacker, id, world: [...setup.world, ...other.world], victims }
}

/** What the attacker may do alone: create an object of this kind, or write an own one. */
async function ownPart({ predicted }: Range, { routeMethod, attacker: column, way }: Attack) {
  if (isAnonymous(column)) return { routeMethod, column, way }
  if (routeMethod.endpoint.operation === 'create') {
    const created = await wayToCreate(predicted, routeMethod, column)
    return { routeMethod, column, way, ...(created ? { asks: { becomes: created.relations } } : {}) }
  }
  if (routeMethod.route.kind === 'collection') return { routeMethod, column, way }
  const own = (await waysTo(predicted, routeMethod, column)).find(({ isAllowed }) => isAllowed)
  return { routeMethod, column, way: own ?? way }
}

/** The victim's request about an object to which the attacker lacks one relation. */
async function aimShort(range: Range, attack: Attack, way: Attack['way']): Promise<Ready> {
  const setup = await setUpVictim(range, { routeMethod: attack.home, column: attack.attacker, way })
  const victims = setup.placed.map(({ object }) => object)
  const request = requestOf(range, attack, { ...setup, token: setup.caller?.token })
  const caller = setup.caller && callerOf(attack, setup.caller.id)
  return { request, attacker: caller, id: idOf(victims), world: setup.world, victims }
}

interface Parts {
  readonly setup: CellSetup
  readonly own: Representation | undefined
  readonly victim: Representation | undefined
}

function withVictim(range: Range, attack: Attack, { setup, own, victim }: Parts): Json | undefined {
  const row = attack.row && rowFor(range, attack.row, { caller: setup.caller, object: victim })
  if (!isObject(setup.body ?? null)) return row ?? setup.body
  if (row) return { ...(setup.body as Representation), ...row }
  const { resource, method } = attack.routeMethod
  const body = setup.body as Representation
  const { vector, reference } = attack
  if (vector === 'id in body') return { ...body, id: victim?.id ?? randomUUID() }
  if (vector === 'owner in body') {
    const owner = ownerFieldOf(resource, range.suite.policy.ownership.get(resource.name))?.name
    return owner === undefined ? body : { ...body, [owner]: victim?.[owner] ?? randomUUID() }
  }
  if (!reference) return body
  const value = victimsValue(attack, victim)
  if (method === 'PATCH') return { [reference.field]: value }
  const writable = Object.entries(own ?? {}).filter(([name]) => !resource.fields.get(name)?.readOnly)
  return { ...(method === 'PUT' ? Object.fromEntries(writable) : body), [reference.field]: value }
}

/** A parent of the same resource is the victim's object itself. */
function victimsValue({ reference, routeMethod: { resource } }: Attack, victim: Representation | undefined): Json {
  const isSame = reference?.to === resource.name
  return (isSame ? victim?.id : victim?.[reference?.field ?? '']) ?? randomUUID()
}

function idOf([object]: readonly Representation[]): string {
  return String(object?.id)
}

function requestOf(
  { target }: Range,
  { routeMethod }: Attack,
  { path, body, token }: { readonly path: string; readonly body: Json | undefined; readonly token: string | undefined },
): HttpRequest {
  return { method: routeMethod.method, url: target.url + path, body, token }
}
