/**
 * Self-grants by force: writes in random worlds, and all that the writer may do before and after each, as the oracle says.
 * Each way is told as `memberships create: tasks member`, by the write, and the relation across objects that it changes.
 */

import { ORACLE_RESOURCES } from '../../policy/language-fixture.ts'
import { answer } from '../../policy/oracle/answer.ts'
import { granted, relationsOf, subjects } from '../../policy/oracle.ts'
import type { OraclePolicy, OracleRelation, OracleRule, Plain, World } from '../../policy/world.ts'
import { type Drawn, isFound, type Later, randomWrites, resultOf, type Wanted } from './random-writes.ts'

/** The ways that some random writes show. */
export function waysByForce(policy: OraclePolicy, seed: number, count: number): ReadonlySet<string> {
  const writes = [...randomWrites(policy, seed, count, {})]
  const allowed = writes.filter(({ world, request }) => answer(world, request).status < 300)
  return new Set(allowed.flatMap((drawn) => seenIn(drawn).shown))
}

/** Whether a search for a write that shows the way finds one. */
export function isShown(policy: OraclePolicy, way: string, seed: number, wanted: Pick<Wanted, 'starts'> = {}): boolean {
  const [write = '', gained = ''] = way.split(': ')
  const [resource = ''] = gained.split(' ')
  const goal = (change: 'on' | 'off') => (drawn: Drawn) => {
    const seen = seenIn(drawn, resource)
    return [seen.isAllowed, seen[change].includes(way), seen.shown.includes(way)]
  }
  return isFound(policy, seed, { ...wanted, write }, goal('on'), goal('off'))
}

/** The ways whose relations begin or stop to hold, and those of them by which the caller gains something. */
interface Seen {
  readonly isAllowed: boolean
  readonly on: readonly string[]
  readonly off: readonly string[]
  readonly shown: readonly string[]
}

/** `only`: the resource of the relations. A refused write is looked at, too, as if it were allowed. */
function seenIn(drawn: Drawn, only?: string): Seen {
  const { world, request, later } = drawn
  const { action, id } = request
  const given = answer(world, request)
  const isAllowed = given.status < 300
  const result = isAllowed ? given.object : resultOf(drawn)
  const { name } = world.resource
  const others = (world.objects?.get(name) ?? []).filter((one) => one.id !== (result?.id ?? id))
  const objects = new Map(world.objects).set(name, result ? [...others, result] : others)
  const isOwn = name === 'users' && action !== 'create' && id === world.caller.id
  const bare = { ...world.caller, claims: {}, record: {} }
  // Without its record, it has no attributes.
  const caller = isOwn ? { ...bare, ...(result && { record: result }) } : world.caller
  const after = { ...world, objects, caller }
  const gains = ORACLE_RESOURCES.filter(({ builtIn, name: its }) => !builtIn && (only ?? its) === its).flatMap(
    (resource) => {
      const moments = { before: { ...world, resource }, after: { ...after, resource }, later, written: name }
      const kept = (world.objects?.get(resource.name) ?? []).flatMap((object) => {
        const now = objects.get(resource.name)?.find((one) => one.id === object.id)
        return now ? [gainedBy(moments, object, now, STORED_ACTIONS)] : []
      })
      // An object that somebody would create: nothing leads to it yet.
      const made = (world.objects?.get(resource.name) ?? []).map((object) => ({ ...object, id: 'new' }))
      const found = [...kept, ...made.map((object) => gainedBy(moments, object, object, ['create']))]
      const way = (leaf: string) => `${name} ${action}: ${resource.name} ${leaf}`
      return found.map(({ on, off, gained }) => ({ on: on.map(way), off: off.map(way), shown: gained.map(way) }))
    },
  )
  return {
    isAllowed,
    on: gains.flatMap(({ on }) => on),
    off: gains.flatMap(({ off }) => off),
    shown: isAllowed ? gains.flatMap(({ shown }) => shown) : [],
  }
}

const STORED_ACTIONS = ['list', 'read', 'update', 'replace', 'delete']

interface Moments {
  readonly before: World
  readonly after: World
  readonly later: readonly Later[]
  /** The resource of the write. */
  readonly written: string
}

/** The relations across objects that change for an object, which is `now` after the write, and those by which it gains. */
function gainedBy(
  { before, after, later, written }: Moments,
  object: Plain,
  now: Plain,
  actions: readonly string[],
): { readonly on: readonly string[]; readonly off: readonly string[]; readonly gained: readonly string[] } {
  const { policy, resource } = before
  const relations = policy.relations.get(resource.name) ?? new Map<string, OracleRelation>()
  const [old, fresh] = [relationsOf(before, object), relationsOf(after, now)]
  const changed = [...relations].flatMap(([name, one]) => {
    const crosses = isGrantable(before, one, written)
    return crosses && old.has(name) !== fresh.has(name) ? [name] : []
  })
  if (changed.length === 0) return { on: [], off: [], gained: [] }
  const without = new Set(
    [...relations.keys()].filter((name) =>
      follows(relations, name, (leaf, one) => (isGrantable(before, one, written) ? old : fresh).has(leaf)),
    ),
  )
  const gained = actions.flatMap((action) => {
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
  return { on: changed.filter((leaf) => fresh.has(leaf)), off: changed.filter((leaf) => old.has(leaf)), gained }
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
