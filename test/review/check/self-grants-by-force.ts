/**
 * Self-grants by force: writes in random worlds, and all that the writer may do before and after each, as the oracle says.
 * Each way is told as `memberships create: tasks member`, by the write, and the relation across objects that it changes.
 */

import fc from 'fast-check'
import { randomLanguageCaller } from '../../policy/arbitrary-language.ts'
import { objectOf, randomObjects, TIMES, valueFor } from '../../policy/arbitrary-objects.ts'
import { VIEWS } from '../../policy/arbitrary-relations.ts'
import { ORACLE_RESOURCES, STORED } from '../../policy/language-fixture.ts'
import { answer, type OracleRequest } from '../../policy/oracle/answer.ts'
import { granted, relationsOf, subjects } from '../../policy/oracle.ts'
import type { OracleCaller, OraclePolicy, OracleRelation, OracleRule, Plain, World } from '../../policy/world.ts'

export interface Wanted {
  /** `memberships create`; any if undefined. */
  readonly write?: string
  readonly gained?: string
  /** Who writes; mostly the one whom rules name, if undefined. */
  readonly caller?: Pick<OracleCaller, 'id' | 'roles'>
}

/** The ways that `count` worlds show, some writes in each. */
export function waysByForce(
  policy: OraclePolicy,
  seed: number,
  count: number,
  wanted: Wanted = {},
): ReadonlySet<string> {
  const found = new Set<string>()
  for (const drawn of worldsOf(policy, seed, count, wanted)) {
    for (const way of waysIn(drawn, wanted)) found.add(way)
  }
  return found
}

/** When and how somebody asks for what the write gained. */
type Later = Pick<World, 'now' | 'address'> & { readonly caller: Pick<OracleCaller, 'credential' | 'authTime' | 'acr'> }

export interface Drawn {
  readonly world: World
  readonly later: readonly Later[]
  readonly request: OracleRequest
}

export function* worldsOf(policy: OraclePolicy, seed: number, count: number, wanted: Wanted): Iterable<Drawn> {
  const drawn = fc.record({
    caller: randomLanguageCaller,
    // Mostly the one whom rules name.
    id: fc.constantFrom('u1', 'u1', 'u2'),
    roles: fc.subarray([...policy.roles]),
    later: fc.array(randomLater, { minLength: 2, maxLength: 2 }),
    objects: randomObjects,
    requests: fc.array(randomWrite(wanted), { minLength: 12, maxLength: 12 }),
  })
  for (const { caller: asking, id, roles, later, objects, requests } of fc.sample(drawn, { seed, numRuns: count })) {
    const caller = callerOf({ ...asking, ...(wanted.caller ?? { id, roles }) }, objects)
    for (const { resource, action, body: given, keeps, nth } of requests) {
      const { name } = resource
      const stored =
        name === 'users' && nth > 0 ? (caller.id ?? 'u1') : String(objects.get(name)?.[nth]?.id ?? 'missing')
      const kept = Object.entries(objects.get(name)?.find((one) => one.id === stored) ?? {})
      const body = { ...Object.fromEntries(kept.filter(([field]) => keeps.includes(field))), ...given }
      const world = { policy, resource, caller, objects, now: NOW, address: '192.0.2.7' }
      const operation = action === 'claim' ? { operation: 'update' } : {}
      yield { world, later, request: { action, ...operation, id: stored, body } }
    }
  }
}

/** Without an id, nobody: no roles, claims or credential. */
function callerOf({ id, ...asking }: OracleCaller, objects: NonNullable<World['objects']>): OracleCaller {
  if (id === undefined) return { roles: [], claims: {} }
  const record = objects.get('users')?.find((one) => one.id === id)
  return { ...asking, id, credential: asking.credential ?? 'password', ...(record && { record }) }
}

const randomLater: fc.Arbitrary<Later> = fc
  .record({
    caller: randomLanguageCaller,
    time: fc.constantFrom(...TIMES),
    address: fc.constantFrom('192.0.2.7', '198.51.100.1'),
  })
  .map(({ caller: { credential = 'password', authTime, acr }, time, address }) => ({
    now: Date.parse(time),
    address,
    caller: { credential, ...(authTime !== undefined && { authTime }), ...(acr !== undefined && { acr }) },
  }))

function randomWrite({ write }: Wanted) {
  const [target, action] = write?.split(' ') ?? []
  const actions = action ? [action] : ['create', 'update', 'replace', 'delete']
  const resources = STORED.filter(({ name }) => target === undefined || name === target)
  return fc.constantFrom(...resources).chain((made) => {
    const [resource] = ORACLE_RESOURCES.filter(({ name }) => name === made.name)
    if (!resource) throw new Error(`there is no resource ${made.name}`)
    const fields = [...made.fields.values()].filter(({ readOnly }) => !readOnly)
    const some = fc
      .subarray(fields, { maxLength: Math.min(3, fields.length) })
      .chain((chosen) => fc.record(Object.fromEntries(chosen.map((one) => [one.name, valueFor(one)]))))
    const whole = objectOf(made, 'x').map(({ id, createdAt, updatedAt, ...body }) => body)
    return fc.record({
      resource: fc.constant(resource),
      action: fc.constantFrom(...actions),
      body: fc.oneof(some, whole),
      // A PUT mostly sends what was there.
      keeps: fc.constantFrom<readonly string[]>([], ...viewsOf(made.name), [...viewsOf(made.name)].flat()),
      nth: fc.nat(2),
    })
  })
}

function viewsOf(resource: string): readonly (readonly string[])[] {
  return [...(VIEWS.get(resource)?.values() ?? [])]
}

const NOW = Date.parse(TIMES[0] ?? '')

function waysIn({ world, request, later }: Drawn, { gained }: Wanted): readonly string[] {
  const { action, id } = request
  const given = answer(world, request)
  if (given.status >= 300) return []
  const { name } = world.resource
  const others = (world.objects?.get(name) ?? []).filter((one) => one.id !== (given.object?.id ?? id))
  const objects = new Map(world.objects).set(name, given.object ? [...others, given.object] : others)
  const isOwn = name === 'users' && action !== 'create' && id === world.caller.id
  const bare = { ...world.caller, claims: {}, record: {} }
  // Without its record, it has no attributes.
  const caller = isOwn ? { ...bare, ...(given.object && { record: given.object }) } : world.caller
  const after = { ...world, objects, caller }
  return ORACLE_RESOURCES.filter(
    (resource) => !resource.builtIn && (gained ?? resource.name) === resource.name,
  ).flatMap((resource) => {
    const kept = (world.objects?.get(resource.name) ?? []).filter((one) =>
      objects.get(resource.name)?.some(({ id }) => id === one.id),
    )
    return kept.flatMap((object) => {
      const now = objects.get(resource.name)?.find((one) => one.id === object.id) ?? object
      const leaves = gainedBy({ ...world, resource }, { ...after, resource }, { object, now, later, written: name })
      return leaves.map((leaf) => `${name} ${action}: ${resource.name} ${leaf}`)
    })
  })
}

interface Seen {
  readonly object: Plain
  /** The same object after the write. */
  readonly now: Plain
  readonly later: readonly Later[]
  /** The resource of the write. */
  readonly written: string
}

/** The relations across objects whose change gains the caller something on this object. */
function gainedBy(before: World, after: World, { object, now, later, written }: Seen): readonly string[] {
  const { policy, resource } = before
  const relations = policy.relations.get(resource.name) ?? new Map<string, OracleRelation>()
  const [old, fresh] = [relationsOf(before, object), relationsOf(after, now)]
  const changed = [...relations].flatMap(([name, one]) => {
    const crosses = isGrantable(before, one, written)
    return crosses && old.has(name) !== fresh.has(name) ? [name] : []
  })
  if (changed.length === 0) return []
  const without = new Set(
    [...relations.keys()].filter((name) =>
      follows(relations, name, (leaf, one) => (isGrantable(before, one, written) ? old : fresh).has(leaf)),
    ),
  )
  const about = ['list', 'read', 'update', 'replace', 'delete']
  return about.flatMap((action) => {
    const isGained = later.some((one) => {
      const { credential, authTime, acr, ...who } = after.caller
      const asked = { ...after, ...one, caller: { ...who, ...one.caller } }
      const had = granted(asked, action, old).union(granted(asked, action, without))
      return granted(asked, action, fresh).difference(had).size > 0
    })
    if (!isGained) return []
    const rules = policy.rules.filter((rule) => isAbout(after, rule, action))
    return changed.filter((leaf) => rules.some((rule) => rests(relations, rule, leaf)))
  })
}

function isAbout(world: World, rule: OracleRule, action: string): boolean {
  const covers = rule.resource === '*' || rule.resource === world.resource.name
  return covers && subjects(world).has(rule.subject) && (rule.actions.includes('*') || rule.actions.includes(action))
}

type Relations = ReadonlyMap<string, OracleRelation>

function rests(relations: Relations, { relations: terms }: OracleRule, leaf: string): boolean {
  return terms.some((term) => leavesOf(relations, term.replace('!', '')).includes(leaf))
}

function leavesOf(relations: Relations, name: string): readonly string[] {
  const one = relations.get(name)
  if (one && 'all' in one) return one.all.flatMap((part) => leavesOf(relations, part))
  if (one && 'any' in one) return one.any.flatMap((part) => leavesOf(relations, part))
  return [name]
}

function follows(
  relations: Relations,
  name: string,
  holds: (leaf: string, relation: OracleRelation) => boolean,
): boolean {
  const one = relations.get(name)
  if (!one) return false
  if ('all' in one) return one.all.every((part) => follows(relations, part, holds))
  if ('any' in one) return one.any.some((part) => follows(relations, part, holds))
  return holds(name, one)
}

/** Whether it relates the caller to the object by other objects, or by its own users record. */
function isGrantable(world: World, relation: OracleRelation, written: string): boolean {
  if ('through' in relation) return needsCaller(world, relation.to, relation.relation)
  if ('some' in relation) return needsCaller(world, relation.some, relation.relation)
  return written === 'users' && 'equals' in relation && relation.equals !== 'id'
}

function needsCaller(world: World, resource: string, name: string): boolean {
  const one = world.policy.relations.get(resource)?.get(name)
  if (!one) return false
  if ('all' in one) return one.all.some((part) => needsCaller(world, resource, part))
  if ('any' in one) return one.any.every((part) => needsCaller(world, resource, part))
  if ('through' in one) return needsCaller(world, one.to, one.relation)
  if ('some' in one) return needsCaller(world, one.some, one.relation)
  return 'equals' in one
}
