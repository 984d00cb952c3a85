/** The people of an attack: the victim with an object, and the attacker, with attributes that are the same or others. */
import { randomUUID } from 'node:crypto'
import { USERS } from '../../../decide/policy.ts'
import { kindOf } from '../../../decide/relations/all-kinds.ts'
import type { Json } from '../../../resources/resource.ts'
import { type Attributes, leavesIn, type PlacedObject } from '../arrange/arrange-object.ts'
import { isAllowed } from '../arrange/field-choice.ts'
import type { Suite } from '../predict/suite.ts'
import { callerIn, type KnownColumn, type MatrixColumn, type ObjectState } from '../read/expectation.ts'
import type { BoundExpectation } from '../run/bind.ts'
import { type CellSetup, setUpCell } from '../run/set-up.ts'
import { makeCaller } from '../run/set-up-caller.ts'
import { CannotSetUp, type TestTarget } from '../target/test-target.ts'
import { type Attack, isAnonymous } from './plan-attacks.ts'
import { attributesOn } from './references.ts'
import type { Way } from './ways.ts'

export interface AttackSetting {
  readonly suite: Suite
  /** On which the attack's conditions hold. */
  readonly target: TestTarget
}

type RouteMethod = Attack['routeMethod']

interface Part {
  readonly routeMethod: RouteMethod
  readonly column: MatrixColumn
  readonly way: Way
  /** For a list of the caller's own objects, or the relations of a new object. */
  readonly asks?: { readonly list: { readonly kind: 'all' } } | { readonly becomes: readonly string[] }
}

/** With attributes that no other attack has, where the schemas allow new values. */
export function setUpVictim({ suite, target }: AttackSetting, part: Part): Promise<CellSetup> {
  const values = freshValues(suite, attributesOn(suite.policy, part.routeMethod.resource), 0)
  return setUpCell(suite, target, boundOf(part), values)
}

/** The attacker with an object or a new object of their own. */
export function setUpAttacker(
  setting: AttackSetting,
  attack: Attack,
  part: Part,
  victim: CellSetup,
): Promise<CellSetup> {
  const names = attributesOn(setting.suite.policy, part.routeMethod.resource)
  return setUpCell(setting.suite, setting.target, boundOf(part), valuesFor(setting.suite, attack, names, victim))
}

export interface Actor {
  readonly id: string
  readonly token: string
  readonly attributes: Attributes
  /** Their users record, if they have one. */
  readonly known: readonly PlacedObject[]
}

/** The attacker without an object; undefined without credentials. */
export async function makeAttacker(
  setting: AttackSetting,
  attack: Attack,
  victim: CellSetup,
): Promise<Actor | undefined> {
  const { suite, target } = setting
  if (isAnonymous(attack.attacker)) return undefined
  const names = attributesOn(suite.policy, attack.home.resource)
  const attributes = valuesFor(suite, attack, names, victim)
  const bound = boundOf({ routeMethod: attack.home, column: attack.attacker, way: { relations: [], isAllowed: false } })
  const { caller, known } = await makeCaller(suite, target, bound, { attributes, ways: [], own: undefined })
  if (!caller) throw new CannotSetUp('the attacker has no credentials')
  return { id: caller.id, token: caller.token, attributes: caller.attributes, known }
}

export function callerOf({ attacker }: Attack, id: string) {
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
function boundOf({ routeMethod, column, way, asks }: Part): BoundExpectation {
  const { route, resource, endpoint, method } = routeMethod
  const { relations: names } = way
  const own: ObjectState = names.length > 0 ? { kind: 'relations', names } : { kind: 'other' }
  const object: ObjectState = route.kind === 'collection' ? { kind: 'none' } : own
  const place = { file: '', line: 1, column: 1 }
  const list = asks && 'list' in asks ? asks : {}
  const becomes = asks && 'becomes' in asks ? asks : {}
  const expected = { status: 200, ...list }
  const expectation = { place, method, path: route.path, object, column, ...becomes, expected }
  return { expectation, route, resource, endpoint, body: way.body }
}
