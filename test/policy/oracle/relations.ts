/** How a caller relates to an object (docs/policies.md, "All kinds of relations"). */
import type { Json, OracleCaller, OracleRelation, Plain, World } from '../world.ts'
import { own, subsets, valuesIn } from './plain.ts'

/** The object that a relation looks at: mostly the same for all of them. */
interface Sides {
  /** For states. */
  readonly states: Plain
  /** For everything else. */
  readonly others: Plain
}

/** The relations that hold. `stateSide`: the states are taken from another object, as on the result of a write. */
export function relationsOf(world: World, object: Plain, stateSide: Plain = object): ReadonlySet<string> {
  const { name } = world.resource
  const sides = { states: stateSide, others: object }
  return new Set(namesOf(world, name).filter((relation) => holds(world, name, relation, sides)))
}

function namesOf({ policy }: World, resource: string): readonly string[] {
  return [...(policy.relations.get(resource)?.keys() ?? [])]
}

export function relationOf({ policy }: World, resource: string, name: string): OracleRelation | undefined {
  return policy.relations.get(resource)?.get(name)
}

function holds(world: World, resource: string, name: string, sides: Sides): boolean {
  const relation = relationOf(world, resource, name)
  if (!relation) return false
  if ('all' in relation) return relation.all.every((one) => holds(world, resource, one, sides))
  if ('any' in relation) return relation.any.some((one) => holds(world, resource, one, sides))
  return leafHolds(world, relation, isState(relation) ? sides.states : sides.others)
}

type Leaf = Exclude<OracleRelation, { readonly all: unknown } | { readonly any: unknown }>

function leafHolds(world: World, relation: Leaf, object: Plain): boolean {
  if ('through' in relation) return reached(world, relation, object).some((one) => relates(world, relation, one))
  if ('some' in relation) return pointing(world, relation, object).some((one) => relates(world, relation, one))
  const values = valuesIn(object, relation.field)
  if ('present' in relation) return values.length > 0 || isOtherValue(own(object, relation.field))
  if ('in' in relation) return values.some((value) => relation.in.includes(value))
  if ('equals' in relation)
    return values.some((value) => attributeValues(world.caller, relation.equals).includes(value))
  return values.some((value) => liesWithin(world, relation, value))
}

/** States are `in` and `present`: on the result of a write they look at the stored object. */
function isState(relation: Leaf): boolean {
  return 'in' in relation || 'present' in relation
}

/** A nested object is a value too, though none that could be compared. */
function isOtherValue(value: Json | undefined): boolean {
  return typeof value === 'object' && value !== null && (!Array.isArray(value) || value.some((one) => one !== null))
}

// ---- Other objects, as they are stored ------------------------------------------------------------------------------

interface Through {
  readonly through: string
  readonly to: string
  readonly relation: string
  readonly depth?: number
}

interface Some {
  readonly some: string
  readonly where: string
  readonly relation: string
}

function relates(world: World, relation: Through | Some, object: Plain): boolean {
  const resource = 'through' in relation ? relation.to : relation.some
  return holds(world, resource, relation.relation, { states: object, others: object })
}

/** The objects reached by one step of the field, or by 1 to `depth` steps. An object met again counts again. */
function reached(world: World, { through, to, depth = 1 }: Through, object: Plain): readonly Plain[] {
  const next = stored(world, to).filter((one) => common(valuesIn(object, through), valuesIn(one, 'id')))
  if (depth === 1) return next
  return [...next, ...next.flatMap((one) => reached(world, { through, to, relation: '', depth: depth - 1 }, one))]
}

function pointing(world: World, { some, where }: Some, object: Plain): readonly Plain[] {
  return stored(world, some).filter((one) => common(valuesIn(one, where), valuesIn(object, 'id')))
}

function stored({ objects }: World, resource: string): readonly Plain[] {
  return objects?.get(resource) ?? []
}

function common(some: readonly Json[], others: readonly Json[]): boolean {
  return some.some((value) => others.includes(value))
}

// ---- Ranges and times -----------------------------------------------------------------------------------------------

interface Bounds {
  readonly atLeast?: number
  readonly atMost?: number
  readonly before?: string
  readonly after?: string
}

function liesWithin(world: World, bounds: Bounds, value: Json): boolean {
  if ('atLeast' in bounds || 'atMost' in bounds) {
    const { atLeast = -Infinity, atMost = Infinity } = bounds
    return typeof value === 'number' && atLeast <= value && value <= atMost
  }
  const time = timeOf(value)
  const { before, after } = bounds
  return (
    time !== undefined &&
    (before === undefined || time < momentOf(world, before)) &&
    (after === undefined || time > momentOf(world, after))
  )
}

const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/

/** Milliseconds since the epoch; undefined for what is no date-time with an offset. */
function timeOf(value: Json): number | undefined {
  if (typeof value !== 'string' || !DATE_TIME.test(value)) return undefined
  const time = Date.parse(value)
  return Number.isNaN(time) ? undefined : time
}

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `15m` in milliseconds. */
export function durationOf(text: string): number {
  return Number(text.slice(0, -1)) * (UNITS[text.slice(-1)] ?? Number.NaN)
}

/** `now`, `now-30d`, `now+1h`. */
function momentOf({ now }: World, text: string): number {
  if (now === undefined) throw new Error('a relation looks at the time: say when it is asked')
  const offset = text.slice('now'.length)
  if (offset === '') return now
  return offset.startsWith('-') ? now - durationOf(offset.slice(1)) : now + durationOf(offset.slice(1))
}

// ---- The caller -----------------------------------------------------------------------------------------------------

/** The caller's values of an attribute; `id` is the caller's id. Without credentials there are none. */
export function attributeValues(caller: OracleCaller, name: string): readonly Json[] {
  if (caller.id === undefined) return []
  return name === 'id' ? [caller.id] : valuesIn(caller.record ?? caller.claims, name)
}

// ---- Before any object is known -------------------------------------------------------------------------------------

/** Who could have a relation that compares an attribute: this caller, or whoever has credentials like this caller. */
export type Compares = (attribute: string) => boolean

export function thisCaller({ caller }: World): Compares {
  return (attribute) => attributeValues(caller, attribute).length > 0
}

export function anyLikeThisCaller({ caller }: World): Compares {
  return () => caller.id !== undefined
}

/**
 * Every set of these relations for some object: leaf relations are independent of each other, composites follow from
 * them.
 */
export function possibleSets(
  world: World,
  names: readonly string[],
  compares: Compares,
): readonly ReadonlySet<string>[] {
  const { name } = world.resource
  const leaves = new Set(names.flatMap((one) => leavesOf(world, one)))
  const possible = [...leaves].filter((one) => couldHold(world, name, one, compares))
  return subsets(possible).map((set) => new Set(names.filter((one) => follows(world, name, one, set))))
}

function leavesOf(world: World, name: string): readonly string[] {
  const relation = relationOf(world, world.resource.name, name)
  if (!relation) return []
  if ('all' in relation) return relation.all.flatMap((one) => leavesOf(world, one))
  return 'any' in relation ? relation.any.flatMap((one) => leavesOf(world, one)) : [name]
}

function couldHold(world: World, resource: string, name: string, compares: Compares): boolean {
  const relation = relationOf(world, resource, name)
  if (!relation) return false
  if ('all' in relation) return relation.all.every((one) => couldHold(world, resource, one, compares))
  if ('any' in relation) return relation.any.some((one) => couldHold(world, resource, one, compares))
  if ('through' in relation) return couldHold(world, relation.to, relation.relation, compares)
  if ('some' in relation) return couldHold(world, relation.some, relation.relation, compares)
  return 'equals' in relation ? compares(relation.equals) : true
}

function follows(world: World, resource: string, name: string, leaves: ReadonlySet<string>): boolean {
  const relation = relationOf(world, resource, name)
  if (relation && 'all' in relation) return relation.all.every((one) => follows(world, resource, one, leaves))
  if (relation && 'any' in relation) return relation.any.some((one) => follows(world, resource, one, leaves))
  return leaves.has(name)
}
