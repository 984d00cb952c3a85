/**
 * What a decision is, as plain functions over plain data, written for a reader: the definition of docs/policies.md in code.
 * It decides nothing in the product. Cells, list filters and permits are compared with it. Relations, conditions and whole
 * answers stand in oracle/.
 */

import { holdingConditions } from './oracle/conditions.ts'
import { own, sameJson, subsets } from './oracle/plain.ts'
import {
  anyLikeThisCaller,
  type Compares,
  possibleSets,
  relationOf,
  relationsOf,
  thisCaller,
} from './oracle/relations.ts'
import { fits, holds, nameOf } from './oracle/terms.ts'
import type { OracleResource, OracleRule, Plain, World } from './world.ts'

export { relationsOf, subsets }

// ---- Who asks -------------------------------------------------------------------------------------------------------

export function subjects({ policy, caller }: World): ReadonlySet<string> {
  const held = caller.roles.filter((role) => policy.roles.includes(role))
  const broken = (policy.apart ?? []).filter((set) => inherited(policy, held).intersection(new Set(set)).size > 1)
  const gives = (role: string) => broken.some((set) => !inherited(policy, [role]).isDisjointFrom(new Set(set)))
  const found = inherited(
    policy,
    held.filter((role) => !gives(role)),
  )
  found.add('everyone')
  found.add(caller.id === undefined ? 'anonymous' : `user:${caller.id}`)
  return found
}

function inherited({ links }: World['policy'], roles: readonly string[]): Set<string> {
  const found = new Set(roles)
  for (const role of found) {
    for (const link of links) if (link.role === role) found.add(link.inherits) // a Set visits what is added
  }
  return found
}

// ---- What is granted ------------------------------------------------------------------------------------------------

/** The first decision: what is granted where exactly these relations hold. A deny with a right side says nothing yet. */
export function granted(world: World, action: string, relations: ReadonlySet<string>): ReadonlySet<string> {
  return grantedWith(world, action, relations.union(holdingConditions(world)))
}

function grantedWith(world: World, action: string, holding: ReadonlySet<string>): ReadonlySet<string> {
  return grantedBy(world, action, (rule) => {
    return (rule.effect === 'allow' || rule.after === undefined) && fits(rule.relations, holding)
  })
}

/** `options` and built-in resources concern no object: rules that name a relation, negated or not, say nothing. */
export function grantedWithoutObject(world: World, action: string): ReadonlySet<string> {
  const holding = holdingConditions(world)
  return grantedBy(world, action, ({ relations }) => {
    return relations.every((term) => isCondition(world, nameOf(term))) && fits(relations, holding)
  })
}

/** What holds before a write, between (states as before, all else as after) and after it. */
interface Transition {
  readonly before: ReadonlySet<string>
  readonly between: ReadonlySet<string>
  readonly after: ReadonlySet<string>
}

export function transitionOf(world: World, stored: Plain, proposed: Plain): Transition {
  return {
    before: relationsOf(world, stored),
    between: relationsOf(world, proposed, stored),
    after: relationsOf(world, proposed),
  }
}

/**
 * The second decision: an allow compares both before and between, a deny needs only one of the two; the right side compares
 * after. A term whose name stands on the right too is asked of before alone.
 */
export function grantedOnResult(world: World, action: string, transition: Transition): ReadonlySet<string> {
  const conditions = holdingConditions(world)
  const before = transition.before.union(conditions)
  const between = transition.between.union(conditions)
  return grantedBy(world, action, ({ effect, relations, after = [] }) => {
    const onRight = new Set(after.map(nameOf))
    const fitsBefore = fits(relations, before)
    const fitsBetween = relations.every((term) => holds(term, onRight.has(nameOf(term)) ? before : between))
    const left = effect === 'allow' ? fitsBefore && fitsBetween : fitsBefore || fitsBetween
    return left && fits(after, transition.after)
  })
}

/** Some matching allow names the field, and no matching deny. */
function grantedBy(world: World, action: string, matches: (rule: OracleRule) => boolean): ReadonlySet<string> {
  const matching = world.policy.rules.filter((rule) => isAbout(world, rule, action) && matches(rule))
  const named = (field: string, effect: 'allow' | 'deny') =>
    matching.some((rule) => rule.effect === effect && names(world, rule, field))
  const fields = world.resource.withoutFields.includes(action) ? ['*'] : world.resource.fields
  return new Set(fields.filter((field) => named(field, 'allow') && !named(field, 'deny')))
}

/** Rules that name a relation which the resource lacks say nothing about it, negated or not. */
function isAbout(world: World, rule: OracleRule, action: string): boolean {
  return (
    lives(world, rule) &&
    subjects(world).has(rule.subject) &&
    covers(rule.resource, world.resource) &&
    (rule.actions.includes('*') || rule.actions.includes(action)) &&
    [...rule.relations, ...(rule.after ?? [])].every((term) => isKnown(world, nameOf(term)))
  )
}

function lives({ now }: World, { until }: OracleRule): boolean {
  if (until === undefined) return true
  if (now === undefined) throw new Error('a rule has an end: say when it is asked')
  return until > now
}

export function covers(pattern: string, { name, builtIn }: OracleResource): boolean {
  if (pattern === '*') return !builtIn
  if (pattern === 'system/*') return builtIn && name !== 'system/policy'
  return pattern === name
}

function names({ policy, resource }: World, rule: OracleRule, field: string): boolean {
  const views = policy.views.get(resource.name)
  return rule.views.some((view) => view === '*' || (views?.get(view)?.includes(field) ?? false))
}

function isCondition({ policy }: World, name: string): boolean {
  return policy.conditions?.has(name) ?? false
}

function isKnown(world: World, name: string): boolean {
  return isCondition(world, name) || relationOf(world, world.resource.name, name) !== undefined
}

// ---- The actions ----------------------------------------------------------------------------------------------------

/**
 * Before any object is known: would some set of relations be allowed that a caller like this one could have? An allow that
 * can never match for this very caller, who lacks the attribute that it compares, doesn't count.
 */
export function roleLevel(world: World, action: string): boolean {
  const mine = possibleHolding(world, action, thisCaller(world))
  const rules = world.policy.rules.filter((rule) => rule.effect === 'deny' || couldMatch(rule, mine))
  const asked = { ...world, policy: { ...world.policy, rules } }
  const possible = possibleHolding(world, action, anyLikeThisCaller(world))
  return possible.some((holding) => grantedWith(asked, action, holding).size > 0)
}

/** For each set of relations that could hold: all that would hold with it. */
function possibleHolding(world: World, action: string, compares: Compares): readonly ReadonlySet<string>[] {
  const conditions = holdingConditions(world)
  return possibleSets(world, relationsAbout(world, action), compares).map((set) => set.union(conditions))
}

/** The relations that rules about the action name: the others don't count. */
function relationsAbout(world: World, action: string): readonly string[] {
  const terms = world.policy.rules.filter((rule) => isAbout(world, rule, action)).flatMap(({ relations }) => relations)
  return [...new Set(terms.map(nameOf))].filter((name) => !isCondition(world, name))
}

function couldMatch({ relations }: OracleRule, possible: readonly ReadonlySet<string>[]): boolean {
  return possible.some((holding) => fits(relations, holding))
}

/** read, delete and a schema's own action: the fields granted on the object; none is a refusal. */
export function onObject(world: World, action: string, stored: Plain): ReadonlySet<string> {
  return granted(world, action, relationsOf(world, stored))
}

/** On a route with a view, the objects of which some field of the view is granted. */
export function list<T extends Plain>(world: World, objects: readonly T[], view?: ReadonlySet<string>): readonly T[] {
  return objects.filter((object) => inView(onObject(world, 'list', object), view).size > 0)
}

export function inView(fields: ReadonlySet<string>, view: ReadonlySet<string> | undefined): ReadonlySet<string> {
  return view ? fields.intersection(view) : fields
}

/** `refused` names the fields at fault; empty with `allowed: false` when the action itself is refused. */
export interface Verdict {
  readonly allowed: boolean
  readonly refused: readonly string[]
}

/** `proposed` is the object as it would be stored; `named` are the fields that the body gives. */
export function create(world: World, proposed: Plain, named: readonly string[], action = 'create'): Verdict {
  const writable = onObject(world, action, proposed)
  // That the server sets a field is the schema's answer, and tells nothing.
  const refused = named.filter((field) => !writable.has(field) && !world.resource.readOnly.includes(field))
  return verdict(writable.size > 0, refused)
}

/** replace and update: allowed on the stored object, and again on the result. */
export function change(world: World, action: string, write: Change): Verdict {
  const { stored, proposed } = write
  const before = onObject(world, action, stored)
  const after = grantedOnResult(world, action, transitionOf(world, stored, proposed))
  return judge(world, write, { before, after, readable: onObject(world, 'read', stored) })
}

/** An object before and after a write; `named` are the fields that the body gives, changed or not. */
export interface Change {
  readonly stored: Plain
  readonly proposed: Plain
  readonly named: readonly string[]
  /** The named fields that the caller can't read now: with a new sign-in, too, no answer tells whether they change. */
  readonly unread?: readonly string[]
  /** Fields that are left to another level. */
  readonly leftOut?: readonly string[]
}

/** What the action grants on the stored object and on the result, and what `read` grants. */
export interface Grants {
  readonly before: ReadonlySet<string>
  readonly after: ReadonlySet<string>
  readonly readable: ReadonlySet<string>
}

export function judge(
  { resource: { readOnly } }: World,
  { stored, proposed, named, unread = [], leftOut = [] }: Change,
  { before, after, readable }: Grants,
): Verdict {
  const fields = Object.keys({ ...stored, ...proposed })
  const changed = fields.filter((field) => !sameJson(own(stored, field), own(proposed, field)))
  const granted = before.intersection(after)
  // Whether a value is the same may not be told to somebody who can neither read nor write it. Nobody writes what is
  // the server's, whatever is granted.
  const hidden = named.filter((field) => !readable.has(field) && !(granted.has(field) && !readOnly.includes(field)))
  const forbidden = changed.filter((field) => !granted.has(field) && !unread.includes(field))
  const refused = new Set([...forbidden, ...hidden]).difference(new Set(leftOut))
  return verdict(before.size > 0 && after.size > 0, [...refused])
}

function verdict(allowed: boolean, refused: readonly string[]): Verdict {
  return allowed ? { allowed: refused.length === 0, refused: refused.toSorted() } : { allowed, refused: [] }
}

/** The fields that a list may be filtered and sorted by: every rule that lets this caller list shows them. */
export function queryable(world: World): ReadonlySet<string> {
  const { policy, resource } = world
  const possible = possibleHolding(world, 'list', thisCaller(world))
  const ways = policy.rules.filter((rule) => isAbout(world, rule, 'list') && couldMatch(rule, possible))
  const everywhere = (field: string) =>
    ways.every((rule) => {
      const some = resource.fields.filter((one) => names(world, rule, one))
      if (rule.effect === 'allow') return some.length === 0 || some.includes(field)
      return !some.includes(field) || some.length === resource.fields.length
    })
  return new Set(resource.fields.filter((field) => resource.indexed.includes(field) && everywhere(field)))
}
