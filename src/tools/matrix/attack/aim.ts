/** Makes an attack ready to send: the people and objects that it needs, and the request. */
import { randomUUID } from 'node:crypto'
import { isObject } from '../../../base/is-object.ts'
import type { Caller } from '../../../decide/caller.ts'
import { ownerFieldOf } from '../../../decide/relations/ownership.ts'
import type { Json, Representation } from '../../../resources/resource.ts'
import type { PlacedObject } from '../arrange/wanted-object.ts'
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

/** Throws CannotSetUp. */
export function aim(range: Range, attack: Attack): Promise<Ready> {
  switch (attack.vector) {
    case 'id in path':
      return aimAtObject(range, attack)
    case 'owner in query':
      return aimAtOwned(range, attack)
    case 'parent in query':
    case 'attribute in query':
      return aimAtList(range, attack)
    case 'row for oneself':
      return aimWithRow(range, attack)
    case 'relation missing':
      return aimShort(range, attack)
    default:
      return aimFromOwn(range, attack)
  }
}

/** The victim's request as it is, with the attacker's credentials. */
async function aimAtObject(range: Range, attack: Attack): Promise<Ready> {
  const { setup, victims } = await victimOf(range, attack)
  const attacker = await makeAttacker(range, attack, setup)
  const request = requestOf(range, attack, { ...setup, token: attacker?.token })
  const world = [...setup.world, ...(attacker?.known ?? [])]
  return { request, attacker: attacker && callerOf(attack, attacker.id), id: idOf(victims), world, victims }
}

/** The list, filtered to the objects that the victim owns. */
async function aimAtOwned(range: Range, attack: Attack): Promise<Ready> {
  const { routeMethod, victim, way } = attack
  const setup = await setUpVictim(range, { routeMethod, column: victim, way, asks: { list: { kind: 'all' } } })
  const victims = setup.placed.flatMap(({ object, relations }) => (relations.has('owner') ? [object] : []))
  const field = ownerFieldOf(routeMethod.resource, range.suite.policy.ownership.get(routeMethod.resource.name))?.name
  return aimFiltered(range, attack, { setup, victims, field: field ?? '', value: setup.caller?.id ?? '' })
}

/** The list, filtered to the value that the victim's object has. */
async function aimAtList(range: Range, attack: Attack): Promise<Ready> {
  const { setup, victims } = await victimOf(range, attack)
  const field = attack.reference?.field ?? ''
  const [value = randomUUID()] = [victims[0]?.[field] ?? randomUUID()].flat()
  return aimFiltered(range, attack, { setup, victims, field, value: String(value) })
}

interface Filtered {
  readonly setup: CellSetup
  readonly victims: readonly Representation[]
  readonly field: string
  readonly value: string
}

async function aimFiltered(range: Range, attack: Attack, { setup, victims, field, value }: Filtered): Promise<Ready> {
  const { route, resource } = attack.routeMethod
  const attacker = await makeAttacker(range, attack, setup)
  const others = [...setup.world, ...(attacker?.known ?? [])]
  const listed = others.filter(({ resource: name, object }) => name !== resource.name || victims.includes(object))
  // The record of the attacker decides the attributes, whether or not the list has it.
  const records = (attacker?.known ?? []).filter((one) => !listed.includes(one))
  const query = `?${field}=${encodeURIComponent(value)}&limit=${range.suite.policy.limits.page.max}`
  const request = requestOf(range, attack, { path: route.path + query, body: undefined, token: attacker?.token })
  const caller = attacker && callerOf(attack, attacker.id)
  return { request, attacker: caller, id: undefined, world: [...listed, ...records], victims }
}

/** The attacker's own request, with one of the victim's ids or values inserted. */
async function aimFromOwn(range: Range, attack: Attack): Promise<Ready> {
  const { routeMethod } = attack
  const { setup: other, victims } = await victimOf(range, attack)
  const setup = await setUpAttacker(range, attack, await ownPart(range, attack), other)
  const [victim] = victims
  const own = setup.placed.map(({ object }) => object)
  const query = attack.vector === 'id in query' ? `?id=${encodeURIComponent(String(victim?.id ?? randomUUID()))}` : ''
  const body = withVictim(range, attack, { setup, own: own[0], victim })
  const request = requestOf(range, attack, { path: setup.path + query, body, token: setup.caller?.token })
  const attacker = setup.caller && callerOf(attack, setup.caller.id)
  const id = routeMethod.route.kind === 'item' ? idOf(own) : undefined
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

/** A row that names the attacker and the victim's object. */
async function aimWithRow(range: Range, attack: Attack): Promise<Ready> {
  const { setup: other, victims } = await victimOf(range, attack)
  const setup = await setUpAttacker(range, attack, await ownPart(range, attack), other)
  const own = isObject(setup.body ?? null) ? (setup.body as Representation) : {}
  const row = attack.row && rowFor(range, attack.row, { caller: setup.caller, object: victims[0] })
  const request = requestOf(range, attack, { path: setup.path, body: { ...own, ...row }, token: setup.caller?.token })
  const attacker = setup.caller && callerOf(attack, setup.caller.id)
  return { request, attacker, id: undefined, world: [...setup.world, ...other.world], victims }
}

/** The victim's request about an object to which the attacker lacks one relation. */
async function aimShort(range: Range, attack: Attack): Promise<Ready> {
  const { home, attacker, way, short } = attack
  const setup = await setUpVictim(range, { routeMethod: home, column: attacker, way: short?.way ?? way })
  const victims = setup.placed.map(({ object }) => object)
  const request = requestOf(range, attack, { ...setup, token: setup.caller?.token })
  const caller = setup.caller && callerOf(attack, setup.caller.id)
  return { request, attacker: caller, id: idOf(victims), world: setup.world, victims }
}

async function victimOf(range: Range, { home, victim, way }: Attack) {
  const setup = await setUpVictim(range, { routeMethod: home, column: victim, way })
  return { setup, victims: setup.placed.map(({ object }) => object) }
}

interface Parts {
  readonly setup: CellSetup
  readonly own: Representation | undefined
  readonly victim: Representation | undefined
}

function withVictim({ suite }: Range, attack: Attack, { setup, own, victim }: Parts): Json | undefined {
  if (!isObject(setup.body ?? null)) return setup.body
  const { resource, method } = attack.routeMethod
  const body = setup.body as Representation
  const { vector, reference } = attack
  if (vector === 'id in body') return { ...body, id: victim?.id ?? randomUUID() }
  if (vector === 'owner in body') {
    const owner = ownerFieldOf(resource, suite.policy.ownership.get(resource.name))?.name
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
