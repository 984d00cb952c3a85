/**
 * Makes an attack ready to send: the victim with an object, the attacker with attributes that are the same or others, and
 * the request.
 */

import { randomUUID } from 'node:crypto'
import { isObject } from '../../../base/is-object.ts'
import type { Caller } from '../../../decide/caller.ts'
import { USERS } from '../../../decide/policy.ts'
import { kindOf } from '../../../decide/relations/all-kinds.ts'
import { ownerFieldOf } from '../../../decide/relations/ownership.ts'
import type { Json, Representation } from '../../../resources/resource.ts'
import { comparedIn } from '../fixture/caller-record.ts'
import { isAllowed } from '../fixture/field-choice.ts'
import { type Attributes, leavesIn, type PlacedObject } from '../fixture/wanted-object.ts'
import type { Suite } from '../predict/suite.ts'
import { callerIn, type KnownColumn, type MatrixColumn, type ObjectState, stateOf } from '../read/expectation.ts'
import type { BoundExpectation, CellOnTarget } from '../run/bind.ts'
import { type CellSetup, setUpCell } from '../run/set-up.ts'
import type { NamedCaller } from '../run/set-up-caller.ts'
import { makeCaller } from '../run/set-up-caller.ts'
import type { HttpRequest } from '../target/http.ts'
import { CannotSetUp } from '../target/test-target.ts'
import { type Attack, isAnonymous, rowFor } from './plan-attacks.ts'
import { type Predicted, type Way, waysTo, wayToCreate } from './ways.ts'

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

/** With the target on which the attack's conditions hold. */
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
  const part: AimedPart = isOwned
    ? { routeMethod, column, way, list: { kind: 'all' } }
    : { routeMethod: home, column, way }
  const setup = await setUpVictim(range, part)
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
    return { routeMethod, column, way, ...(created && { becomes: created.relations }) }
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

interface AttackObjects {
  readonly setup: CellSetup
  readonly own: Representation | undefined
  readonly victim: Representation | undefined
}

function withVictim(range: Range, attack: Attack, { setup, own, victim }: AttackObjects): Json | undefined {
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

type AttackSetting = Omit<CellOnTarget, 'bound'>

interface AimedPart {
  readonly routeMethod: Attack['routeMethod']
  readonly column: MatrixColumn
  readonly way: Way
  /** For a list of the caller's own objects. */
  readonly list?: { readonly kind: 'all' }
  /** The relations of a new object. */
  readonly becomes?: readonly string[]
}

/** With attributes that no other attack has, where the schemas allow new values. */
function setUpVictim({ suite, target }: AttackSetting, part: AimedPart): Promise<CellSetup> {
  const values = freshValues(suite, comparedIn(suite.policy.ownership.get(part.routeMethod.resource.name)), 0)
  return setUpCell({ suite, target, bound: boundOf(part) }, values)
}

/** The attacker with an object or a new object of their own. */
function setUpAttacker(setting: AttackSetting, attack: Attack, part: AimedPart, victim: CellSetup): Promise<CellSetup> {
  const names = comparedIn(setting.suite.policy.ownership.get(part.routeMethod.resource.name))
  return setUpCell({ ...setting, bound: boundOf(part) }, valuesFor(setting.suite, attack, names, victim))
}

interface Actor extends NamedCaller {
  /** Their users record, if they have one. */
  readonly known: readonly PlacedObject[]
}

/** The attacker without an object; undefined without credentials. */
async function makeAttacker(setting: AttackSetting, attack: Attack, victim: CellSetup): Promise<Actor | undefined> {
  const { suite, target } = setting
  if (isAnonymous(attack.attacker)) return undefined
  const names = comparedIn(suite.policy.ownership.get(attack.home.resource.name))
  const attributes = valuesFor(suite, attack, names, victim)
  const bound = boundOf({ routeMethod: attack.home, column: attack.attacker, way: { relations: [], isAllowed: false } })
  const { caller, known } = await makeCaller({ suite, target, bound }, { attributes, ways: [], own: undefined })
  if (!caller) throw new CannotSetUp('the attacker has no credentials')
  return { ...caller, known }
}

function callerOf({ attacker }: Attack, id: string) {
  return callerIn(attacker as KnownColumn, id)
}

function valuesFor(suite: Suite, attack: Attack, names: readonly string[], victim: CellSetup): Attributes {
  if (attack.attributes === undefined) return {}
  if (attack.attributes === 'other') return freshValues(suite, names, 1)
  const values = victim.caller?.attributes ?? {}
  const same = names.filter((name) => Object.hasOwn(values, name))
  return Object.fromEntries(same.flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]]])))
}

/** `nth`: which of the sample values, where the schemas allow no new ones; the victim then has what any cell has. */
function freshValues(suite: Suite, names: readonly string[], nth: number): Attributes {
  const { resources, samples } = suite
  const users = resources.byName.get(USERS)
  const given = names.flatMap((name): readonly (readonly [string, Json])[] => {
    const field = users?.fields.get(name)
    if (!users || !field) return []
    const id = randomUUID()
    const fresh = field.list ? [id] : id
    if (isAllowed(users, name, fresh) && fitsFields(suite, name, id)) return [[name, fresh]]
    const sample = nth === 0 ? undefined : samples.get(USERS)?.values.get(name)?.[nth]
    return sample === undefined ? [] : [[name, sample]]
  })
  return Object.fromEntries(given) as Attributes
}

/** Whether all fields that relations compare with the attribute can have the value. */
function fitsFields({ policy, resources }: Suite, attribute: string, value: string): boolean {
  return [...policy.ownership].every(([name, ownership]) => {
    const resource = resources.byName.get(name)
    const equations = leavesIn(ownership).flatMap((leaf) => kindOf(leaf).equates?.(leaf) ?? [])
    const fields = equations.flatMap((one) => (one.attribute === attribute ? one.field : []))
    return fields.every((field) => {
      const isList = resource?.fields.get(field)?.list
      return resource === undefined || isAllowed(resource, field, isList ? [value] : value)
    })
  })
}

/** The cell that describes the setup. */
function boundOf({ routeMethod, column, way, list, becomes }: AimedPart): BoundExpectation {
  const { route, resource, endpoint, method } = routeMethod
  const object: ObjectState = route.kind === 'collection' ? { kind: 'none' } : stateOf(way.relations)
  const place = { file: '', line: 1, column: 1 }
  const expected = { status: 200, ...(list && { list }) }
  const expectation = { place, method, path: route.path, object, column, ...(becomes && { becomes }), expected }
  return { expectation, route, resource, endpoint, body: way.body }
}
