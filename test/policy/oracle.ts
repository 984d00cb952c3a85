/**
 * What a decision is, as plain functions over plain data, written for a reader: the definition of docs/policies.md in code.
 * It decides nothing in the product. Cells, list filters and permits are compared with it.
 */

import type { Json, OracleCaller, OracleRelation, OracleResource, OracleRule, Plain, World } from './world.ts'

// ---- Who asks -------------------------------------------------------------------------------------------------------

export function subjects({ policy, caller }: World): ReadonlySet<string> {
  const found = new Set(caller.roles.filter((role) => policy.roles.includes(role)))
  for (const role of found) {
    for (const link of policy.links) if (link.role === role) found.add(link.inherits) // a Set visits what is added
  }
  found.add('everyone')
  found.add(caller.id === undefined ? 'anonymous' : `user:${caller.id}`)
  return found
}

function attribute(caller: OracleCaller, name: string): Json | undefined {
  if (caller.id === undefined) return undefined
  if (name === 'id') return caller.id
  return own(caller.record ?? caller.claims, name)
}

// ---- How the caller relates to an object ----------------------------------------------------------------------------

/** The caller relations are taken from one object and the state relations from another; mostly the same one. */
export function relationsOf(world: World, callerSide: Plain, stateSide: Plain = callerSide): ReadonlySet<string> {
  const relations = world.policy.relations.get(world.resource.name) ?? new Map<string, OracleRelation>()
  const holds = (relation: OracleRelation) =>
    'in' in relation
      ? relation.in.some((constant) => same(own(stateSide, relation.field), constant))
      : same(own(callerSide, relation.field), attribute(world.caller, relation.equals))
  return new Set([...relations].filter(([, relation]) => holds(relation)).map(([name]) => name))
}

/** Equal scalars of one type, or a list that has the scalar. Absent and null equal nothing. */
function same(value: Json | undefined, wanted: Json | undefined): boolean {
  if (!isScalar(wanted)) return false
  return Array.isArray(value) ? value.includes(wanted) : value === wanted
}

// ---- What is granted ------------------------------------------------------------------------------------------------

export function granted(world: World, action: string, relations: ReadonlySet<string>): ReadonlySet<string> {
  const { policy, resource } = world
  const matching = policy.rules.filter((rule) => matches(world, rule, action, relations))
  const named = (field: string, effect: 'allow' | 'deny') =>
    matching.some((rule) => rule.effect === effect && names(world, rule, field))
  const fields = resource.withoutFields.includes(action) ? ['*'] : resource.fields
  return new Set(fields.filter((field) => named(field, 'allow') && !named(field, 'deny')))
}

function matches(world: World, rule: OracleRule, action: string, relations: ReadonlySet<string>): boolean {
  return (
    lives(world, rule) &&
    subjects(world).has(rule.subject) &&
    covers(rule.resource, world.resource) &&
    (rule.actions.includes('*') || rule.actions.includes(action)) &&
    rule.relations.every((relation) => relations.has(relation))
  )
}

function lives({ now }: World, { until }: OracleRule): boolean {
  if (until === undefined) return true
  if (now === undefined) throw new Error('a rule has an end: say when it is asked')
  return until > now
}

function covers(pattern: string, { name, builtIn }: OracleResource): boolean {
  if (pattern === '*') return !builtIn
  if (pattern === 'system/*') return builtIn
  return pattern === name
}

function names({ policy, resource }: World, rule: OracleRule, field: string): boolean {
  const views = policy.views.get(resource.name)
  return rule.views.some((view) => view === '*' || (views?.get(view)?.includes(field) ?? false))
}

// ---- The actions ----------------------------------------------------------------------------------------------------

/** Before any object is known: would some set of relations that this caller could have be allowed? */
export function roleLevel(world: World, action: string): boolean {
  const relations = [...(world.policy.relations.get(world.resource.name) ?? [])]
  const names = relations.filter(([, relation]) => couldHold(world, relation)).map(([name]) => name)
  return subsets(names).some((set) => granted(world, action, set).size > 0)
}

/** With some object, as far as the caller goes: absent equals nothing. */
function couldHold({ caller }: World, relation: OracleRelation): boolean {
  return 'in' in relation || isScalar(attribute(caller, relation.equals))
}

/** read, list, delete, options and a schema's own action: the fields granted on the object; none is a refusal. */
export function onObject(world: World, action: string, stored: Plain): ReadonlySet<string> {
  return granted(world, action, relationsOf(world, stored))
}

export function list<T extends Plain>(world: World, objects: readonly T[]): readonly T[] {
  return objects.filter((object) => onObject(world, 'list', object).size > 0)
}

/** `refused` names the fields at fault; empty with `allowed: false` when the action itself is refused. */
export interface Verdict {
  readonly allowed: boolean
  readonly refused: readonly string[]
}

/** `proposed` is the object as it would be stored; `named` are the fields that the body gives. */
export function create(world: World, proposed: Plain, named: readonly string[]): Verdict {
  const writable = onObject(world, 'create', proposed)
  // That the server sets a field is the schema's answer, and tells nothing.
  const refused = named.filter((field) => !writable.has(field) && !world.resource.readOnly.includes(field))
  return verdict(writable.size > 0, refused)
}

/** replace and update: allowed on the stored object, and again with the caller as related to the proposed one. */
export function change(world: World, action: 'replace' | 'update', write: Change): Verdict {
  const { stored, proposed } = write
  const before = onObject(world, action, stored)
  const after = granted(world, action, relationsOf(world, proposed, stored))
  return judge(world, write, { before, after, readable: onObject(world, 'read', stored) })
}

/** An object before and after a write; `named` are the fields that the body gives, changed or not. */
export interface Change {
  readonly stored: Plain
  readonly proposed: Plain
  readonly named: readonly string[]
}

/** What the action grants on the stored and on the proposed object, and what `read` grants. */
export interface Grants {
  readonly before: ReadonlySet<string>
  readonly after: ReadonlySet<string>
  readonly readable: ReadonlySet<string>
}

export function judge(
  { resource: { readOnly } }: World,
  { stored, proposed, named }: Change,
  { before, after, readable }: Grants,
): Verdict {
  const fields = Object.keys({ ...stored, ...proposed })
  const changed = fields.filter((field) => !sameJson(own(stored, field), own(proposed, field)))
  const granted = before.intersection(after)
  // Whether a value is the same may not be told to somebody who can neither read nor write it. Nobody writes what is
  // the server's, whatever is granted.
  const hidden = named.filter((field) => !readable.has(field) && !(granted.has(field) && !readOnly.includes(field)))
  const refused = new Set([...changed.filter((field) => !granted.has(field)), ...hidden])
  return verdict(before.size > 0 && after.size > 0, [...refused])
}

/** What a PUT proposes: the body, and from the stored object what is the server's or the caller may not write. */
export function replaced(world: World, stored: Plain, body: Plain): Plain {
  const writable = onObject(world, 'replace', stored)
  const keeps = (field: string) => !writable.has(field) || world.resource.readOnly.includes(field)
  const kept = Object.entries(stored).filter(([field]) => keeps(field))
  return { ...Object.fromEntries(kept), ...body }
}

function verdict(allowed: boolean, refused: readonly string[]): Verdict {
  return allowed ? { allowed: refused.length === 0, refused: refused.toSorted() } : { allowed, refused: [] }
}

/** The fields that a list may be filtered and sorted by: every rule that lets this caller list shows them. */
export function queryable(world: World): ReadonlySet<string> {
  const { policy, resource } = world
  const relations = policy.relations.get(resource.name)
  const could = (name: string) => {
    const relation = relations?.get(name)
    return relation !== undefined && couldHold(world, relation)
  }
  const about = policy.rules.filter((rule) => matches(world, { ...rule, relations: [] }, 'list', new Set()))
  const ways = about.filter((rule) => rule.relations.every(could))
  const named = (rule: OracleRule) => resource.fields.filter((field) => names(world, rule, field))
  const everywhere = (field: string) =>
    ways.every((rule) => {
      const some = named(rule)
      if (rule.effect === 'allow') return some.length === 0 || some.includes(field)
      return !some.includes(field) || some.length === resource.fields.length
    })
  return new Set(resource.fields.filter((field) => resource.indexed.includes(field) && everywhere(field)))
}

// ---- Plain data -----------------------------------------------------------------------------------------------------

export function subsets(names: readonly string[]): readonly ReadonlySet<string>[] {
  const [first, ...rest] = names
  if (first === undefined) return [new Set()]
  return subsets(rest).flatMap((set) => [set, new Set([first, ...set])])
}

function own(object: Plain, field: string): Json | undefined {
  return Object.hasOwn(object, field) ? object[field] : undefined
}

function isScalar(value: Json | undefined): boolean {
  return ['string', 'number', 'boolean'].includes(typeof value)
}

function sameJson(a: Json | undefined, b: Json | undefined): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => sameJson(item, b[i]))
  if (!isObject(a) || !isObject(b)) return a === b
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && sameJson(a[key], b[key]))
}

function isObject(value: Json | undefined): value is Plain {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
