/**
 * Random writes in random worlds, for tests that try them one by one: many that have nothing to do with one another, or a
 * search, which changes a write and its world in one place at a time and keeps what comes nearer.
 */

import fc from 'fast-check'
import { randomLanguageCaller } from '../../policy/arbitrary-language.ts'
import { objectOf, randomObjects, TIMES, valueFor } from '../../policy/arbitrary-objects.ts'
import { VIEWS } from '../../policy/arbitrary-relations.ts'
import { ORACLE_RESOURCES, STORED } from '../../policy/language-fixture.ts'
import type { OracleRequest } from '../../policy/oracle/answer.ts'
import { holds } from '../../policy/oracle/terms.ts'
import { relationsOf, subjects } from '../../policy/oracle.ts'
import type { OracleCaller, OraclePolicy, Plain, World } from '../../policy/world.ts'

export interface Wanted {
  /** `memberships create`; any if undefined. */
  readonly write?: string
  /** Who writes; mostly the one whom rules name, if undefined. */
  readonly caller?: Whoever
  /** The searches that begin anew; what is made up needs few to be found out. */
  readonly starts?: number
}

/** Without an id: no credentials. */
interface Whoever {
  readonly id: string | undefined
  readonly roles: readonly string[]
}

/** When and how somebody asks for what the write gained. */
export type Later = Pick<World, 'now' | 'address'> & {
  readonly caller: Pick<OracleCaller, 'credential' | 'authTime' | 'acr'>
}

export interface Drawn {
  readonly world: World
  readonly later: readonly Later[]
  readonly request: OracleRequest
}

export function* randomWrites(policy: OraclePolicy, seed: number, count: number, wanted: Wanted): Iterable<Drawn> {
  const random = randomBy(seed)
  for (let i = 0; i < count; i += 1) yield drawnOf(policy, randomParts(policy, wanted, random))
}

/** The searches that begin anew, if nothing else is wanted, and the changes that each tries. */
export const STARTS = 16
const CHANGES = 5000

/** Whether a search finds a write with all the marks of one of these goals. A later mark is nearer than all before it. */
export function isFound(
  policy: OraclePolicy,
  seed: number,
  wanted: Wanted,
  ...goals: readonly ((drawn: Drawn) => readonly boolean[])[]
): boolean {
  const random = randomBy(seed)
  for (let i = 0; i < (wanted.starts ?? STARTS); i += 1) {
    let parts = randomParts(policy, wanted, random)
    let best = -1
    for (let j = 0; j < CHANGES; j += 1) {
      const other = best < 0 ? parts : changed(parts, randomParts(policy, wanted, random), random)
      const drawn = drawnOf(policy, other)
      const marks = goals[i % goals.length]?.(drawn) ?? []
      if (marks.every(Boolean)) return true
      const near = marks.reduce((sum, has, at) => sum + (has ? 2 ** at : 0), 0) + nearRules(drawn)
      if (near >= best) [parts, best] = [other, near]
    }
  }
  return false
}

/** About what the write makes of the object, allowed or not; undefined if nothing. */
export function resultOf({ world, request: { action, operation = action, id, body } }: Drawn): Plain | undefined {
  const stored = storedIn(world, id)
  if (operation === 'create') return { ...body, id: 'new' }
  if (!stored || operation === 'delete') return undefined
  return operation === 'update' ? { ...stored, ...body } : { ...body, id: stored.id ?? '' }
}

function storedIn({ objects, resource }: World, id: string | undefined): Plain | undefined {
  return objects?.get(resource.name)?.find((one) => one.id === id)
}

/** How much of the left side of some allow fits the stored object and what a write makes of it, and of no deny: less than one. */
function nearRules(drawn: Drawn): number {
  const {
    world,
    request: { action, id },
  } = drawn
  const stored = storedIn(world, id) ?? {}
  const result = resultOf(drawn) ?? {}
  const sides = [
    ...(action === 'create' ? [] : [relationsOf(world, stored)]),
    ...(action === 'delete' ? [] : [relationsOf(world, result, action === 'create' ? result : stored)]),
  ]
  const mine = subjects(world)
  const rules = world.policy.rules.filter(({ subject, resource, actions }) => {
    const isAbout = (resource === '*' || resource === world.resource.name) && mine.has(subject)
    return isAbout && (actions.includes('*') || actions.includes(action))
  })
  const share = (held: readonly number[]) => held.reduce((sum, one) => sum + one, 0) / (held.length + 1)
  const allows = rules
    .filter(({ effect }) => effect === 'allow')
    .map(({ relations }) => share(sides.flatMap((side) => relations.map((term) => shareOf(term, side, world)))))
  const denies = rules.filter(({ effect, relations }) => effect === 'deny' && relations.length > 0)
  const escaped = denies.flatMap(({ relations }) =>
    sides.map((side) => 1 - Math.min(...relations.map((term) => shareOf(term, side, world)))),
  )
  return (Math.max(0, ...allows) + share(escaped)) / 2
}

function shareOf(term: string, holding: ReadonlySet<string>, world: World): number {
  const form = world.policy.relations.get(world.resource.name)?.get(term)
  if (!form || !('all' in form)) return Number(holds(term, holding))
  return form.all.filter((part) => holding.has(part)).length / form.all.length
}

// ---- The parts of a write -------------------------------------------------------------------------------------------

interface Parts {
  readonly asking: Omit<OracleCaller, 'id'> & Whoever
  readonly later: readonly Later[]
  readonly objects: NonNullable<World['objects']>
  readonly write: RandomWrite
}

const NOW = Date.parse(TIMES[0] ?? '')

function drawnOf(policy: OraclePolicy, { asking, later, objects, write }: Parts): Drawn {
  const { resource, action, body: given, keeps, nth } = write
  const { name } = resource
  const caller = callerOf(asking, objects)
  const stored = name === 'users' && nth > 0 ? (caller.id ?? 'u1') : String(objects.get(name)?.[nth]?.id ?? 'missing')
  const kept = Object.entries(objects.get(name)?.find((one) => one.id === stored) ?? {})
  const body = { ...Object.fromEntries(kept.filter(([field]) => keeps.includes(field))), ...given }
  const world = { policy, resource, caller, objects, now: NOW, address: '192.0.2.7' }
  const operation = action === 'claim' ? { operation: 'update' } : {}
  return { world, later, request: { action, ...operation, id: stored, body } }
}

/** Without an id, nobody: no roles, claims or credential. */
function callerOf({ id, ...asking }: Parts['asking'], objects: Parts['objects']): OracleCaller {
  if (id === undefined) return { roles: [], claims: {} }
  const record = objects.get('users')?.find((one) => one.id === id)
  return { ...asking, id, credential: asking.credential ?? 'password', ...(record && { record }) }
}

function randomParts({ roles }: OraclePolicy, { write, caller }: Wanted, random: Random): Parts {
  const from = <T>(some: readonly T[]) => pick(some, random)
  const asked = write === undefined ? [...WRITES.values()] : [WRITES.get(write) ?? []]
  return {
    asking: {
      ...from(CALLERS),
      // Mostly the one whom rules name.
      ...(caller ?? { id: from(['u1', 'u1', 'u2']), roles: roles.filter(() => random(2) === 0) }),
    },
    later: [from(LATER), from(LATER)],
    objects: new Map(STORED.map(({ name }) => [name, from(OBJECTS).get(name) ?? []])),
    write: from(from(asked)),
  }
}

/** The parts with one change: another caller, moment or write, other or more objects of a resource, or another value. */
function changed(parts: Parts, other: Parts, random: Random): Parts {
  const { name } = pick(STORED, random)
  const mine = parts.objects.get(name) ?? []
  const others = other.objects.get(name) ?? []
  switch (random(9)) {
    case 0:
      return { ...parts, asking: other.asking }
    case 1:
      return { ...parts, later: other.later }
    case 2:
      return { ...parts, write: other.write }
    case 3:
      return { ...parts, write: { ...parts.write, body: mixed(parts.write.body, other.write.body, random) } }
    case 4:
      return { ...parts, objects: new Map(parts.objects).set(name, others) }
    case 5: {
      const more = others.filter(({ id }) => !mine.some((one) => one.id === id))
      return { ...parts, objects: new Map(parts.objects).set(name, [...mine, ...more]) }
    }
    default: {
      const at = random(Math.max(1, mine.length))
      const changedOne = mine.map((one, i) => (i === at ? mixed(one, pick(others, random) ?? {}, random) : one))
      return { ...parts, objects: new Map(parts.objects).set(name, changedOne) }
    }
  }
}

/** With one value of another object; without it, where that has none. */
function mixed(one: Plain, other: Plain, random: Random): Plain {
  const fields = Object.keys({ ...one, ...other }).filter((name) => !['id', 'createdAt', 'updatedAt'].includes(name))
  const field = pick(fields, random)
  if (field === undefined) return one
  const { [field]: _, ...rest } = one
  const value = other[field]
  return value === undefined ? rest : { ...rest, [field]: value }
}

// ---- What they are drawn from ---------------------------------------------------------------------------------------

/** Up to a number, which isn't included. */
type Random = (below: number) => number

/** Mulberry32. */
function randomBy(seed: number): Random {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixing = Math.imul(state ^ (state >>> 15), state | 1)
    mixing ^= mixing + Math.imul(mixing ^ (mixing >>> 7), mixing | 61)
    return ((mixing ^ (mixing >>> 14)) >>> 0) % below
  }
}

function pick<T>(some: readonly T[], random: Random): T {
  return some[random(Math.max(1, some.length))] as T
}

const POOL = { seed: 1, numRuns: 200 }

const OBJECTS = fc.sample(randomObjects, POOL)
const CALLERS = fc.sample(randomLanguageCaller, POOL)

const LATER: readonly Later[] = CALLERS.map(({ credential = 'password', authTime, acr }, i) => ({
  now: Date.parse(TIMES[i % TIMES.length] ?? ''),
  address: i % 2 === 0 ? '192.0.2.7' : '198.51.100.1',
  caller: { credential, ...(authTime !== undefined && { authTime }), ...(acr !== undefined && { acr }) },
}))

interface RandomWrite {
  readonly resource: World['resource']
  readonly action: string
  readonly body: Plain
  /** The fields of the stored object that the body names, too. */
  readonly keeps: readonly string[]
  /** Which of the stored objects is written. */
  readonly nth: number
}

const WRITES: ReadonlyMap<string, readonly RandomWrite[]> = new Map(
  ORACLE_RESOURCES.flatMap((resource) => {
    const made = STORED.find(({ name }) => name === resource.name)
    if (!made) return []
    const fields = [...made.fields.values()].filter(({ readOnly }) => !readOnly)
    const some = fc
      .subarray(fields, { maxLength: Math.min(3, fields.length) })
      .chain((chosen) => fc.record(Object.fromEntries(chosen.map((one) => [one.name, valueFor(one)]))))
    const whole = objectOf(made, 'x').map(({ id, createdAt, updatedAt, ...body }) => body)
    const views = [...(VIEWS.get(made.name)?.values() ?? [])]
    const writes = (action: string) =>
      fc.record({
        resource: fc.constant(resource),
        action: fc.constant(action),
        body: fc.oneof(some, whole),
        // A PUT mostly sends what was there.
        keeps: fc.constantFrom<readonly string[]>([], ...views, views.flat()),
        nth: fc.nat(2),
      })
    const actions = ['create', 'update', 'replace', 'delete', ...(made.actions.has('claim') ? ['claim'] : [])]
    return actions.map((action) => [`${made.name} ${action}`, fc.sample(writes(action), POOL)] as const)
  }),
)
