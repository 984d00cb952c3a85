/** A guarantee about tasks, answered by trying every caller of up to three roles in every situation, as the oracle decides. */

import { TASKS } from '../../policy/language-fixture.ts'
import { subsets } from '../../policy/oracle/plain.ts'
import { subjects } from '../../policy/oracle.ts'
import type { Json, OracleCaller, OraclePolicy, OracleRelation, OracleRule } from '../../policy/world.ts'
import { callerOf, leavesOf, objectPointsOf, pointsOf, worldsOf } from '../diff/language-space.ts'
import type { Point } from '../diff/whole-space.ts'

export interface Promised extends PromisedAct {
  readonly kind: 'never' | 'always'
}

export interface PromisedAct {
  readonly subjects: readonly string[] | { readonly except: readonly string[] }
  readonly actions: readonly string[]
  readonly fields?: readonly string[]
  /** Absent: nothing is said behind `unless` or `when`. */
  readonly terms?: { readonly relations: readonly string[]; readonly after?: readonly string[] }
}

export type Status = 'proven' | 'broken' | 'undecided'

/** Roles that nobody has together: who has two of them has none, so another caller stands for them. */
export type RolesApart = readonly string[]

/** `undecided` where no caller can be in such a situation. */
export function statusByForce(policy: OraclePolicy, promised: Promised, apart: RolesApart = []): Status {
  const found = promised.actions.flatMap((action) =>
    callersOf(policy, promised, apart).flatMap((caller) => pointsFor(policy, promised, action, caller)),
  )
  if (found.some(({ broken }) => broken)) return 'broken'
  return found.length === 0 ? 'undecided' : 'proven'
}

export function callersOf(
  policy: OraclePolicy,
  { subjects: who }: PromisedAct,
  apart: RolesApart = [],
): readonly OracleCaller[] {
  const roles = subsets(policy.roles).map((set) => [...set])
  const all = [callerOf(undefined, []), ...['nobody', 'u1'].flatMap((id) => roles.map((some) => callerOf(id, some)))]
  return all.filter((caller) => {
    const { before } = worldsOf(
      { before: policy, after: policy },
      { resource: TASKS, action: 'read', caller },
      new Set(),
    )
    const its = subjects(before)
    if (apart.filter((role) => its.has(role)).length > 1) return false
    return 'except' in who ? !who.except.some((role) => its.has(role)) : who.some((name) => its.has(name))
  })
}

const WRITES = ['replace', 'update', 'claim']

/** The situations that the guarantee is about, and whether it is broken there. */
function pointsFor(policy: OraclePolicy, promised: Promised, action: string, caller: OracleCaller) {
  const { points, leaves } = allPoints(policy, linesOf(promised, action), action, caller)
  const judge = promised.kind === 'never' ? judgeNever : judgeAlways
  return points.flatMap((point) => judge(point, promised, leaves, action))
}

function allPoints(policy: OraclePolicy, lines: readonly OracleRule[], action: string, caller: OracleCaller) {
  // The other policy grants what the terms say.
  const pair = { before: policy, after: { ...policy, links: [], rules: lines } }
  const question = { resource: TASKS, action, caller }
  // Situations that differ only in what no rule names are one point, which holds none of it.
  const leaves = [...leavesOf(pair, question)]
  const points = WRITES.includes(action) ? pointsOf(pair, question) : objectPointsOf(pair, question)
  const isMade = ({ holding }: Point) =>
    action === 'create' && leaves.some(([name, one]) => 'some' in one && holding.stored.has(name))
  return { points: points.filter((point) => !isMade(point)), leaves }
}

function linesOf(
  { kind, terms }: { readonly kind: string; readonly terms?: PromisedAct['terms'] },
  action: string,
): readonly OracleRule[] {
  const about = { subject: 'everyone', resource: 'tasks', actions: [action] }
  const line: OracleRule = { ...about, relations: [], views: ['*'], effect: 'allow', ...terms }
  return terms || kind !== 'never' ? [line] : []
}

type Judge = (
  point: Point,
  promised: Promised,
  leaves: readonly Leaf[],
  action: string,
) => readonly { readonly broken: boolean }[]

const judgeNever: Judge = (point, { fields }, leaves, action) => {
  if (point.after.size > 0) return []
  const some = fields ? fields.some((name) => point.before.has(name)) : point.before.size > 0
  return [{ broken: some && isReachable(point, leaves, action) }]
}

/** A write of some fields changes no relation that looks at others. */
const judgeAlways: Judge = (point, { fields }, leaves, action) => {
  if (point.after.size === 0) return []
  const isOther = ([, one]: Leaf) => fields && !fieldsIn(one).some((name) => fields.includes(name))
  if (WRITES.includes(action) && leaves.filter(isOther).some(([name]) => isChanged(point, name))) return []
  return [{ broken: fields ? fields.some((name) => !point.before.has(name)) : point.before.size === 0 }]
}

type Leaf = readonly [name: string, relation: OracleRelation]

/** Whether the fields that must be written for it may be written. */
function isReachable(point: Point, leaves: readonly Leaf[], action: string): boolean {
  const writes = (field: string) => point.before.has(field) && !TASKS.fields.get(field)?.readOnly
  if (WRITES.includes(action)) {
    return leaves.every(([name, one]) => !isChanged(point, name) || fieldsIn(one).some(writes))
  }
  if (action !== 'create') return true
  return leaves.every(([name, one]) => {
    const made = heldAsMade(one)
    return made === undefined || fieldsIn(one).some(writes) || point.holding.stored.has(name) === made
  })
}

function isChanged({ holding }: Point, name: string): boolean {
  return holding.stored.has(name) !== holding.proposed.has(name)
}

function fieldsIn(relation: OracleRelation): readonly string[] {
  if ('through' in relation) return [relation.through]
  return 'field' in relation ? [relation.field] : []
}

/** Whether it holds for a new object whose creator doesn't name the field; undefined if it may or may not. */
function heldAsMade(relation: OracleRelation): boolean | undefined {
  const [field = ''] = fieldsIn(relation)
  if ('some' in relation) return false
  const declared = TASKS.fields.get(field)
  if (declared?.readOnly) return undefined
  // The field of `owner` gets the creator's id.
  if (field === 'ownerId') return 'equals' in relation && relation.equals === 'id' ? true : undefined
  const value: Json | undefined = declared?.default
  if (value === undefined) return false
  return 'in' in relation ? relation.in.includes(value) : undefined
}

/** The names that a guarantee may use. */
export function namesFor(policy: OraclePolicy): readonly string[] {
  return [...(policy.relations.get('tasks')?.keys() ?? []), ...(policy.conditions?.keys() ?? [])]
}

// ---- Two acts of one caller -----------------------------------------------------------------------------------------

export interface PromisedApart {
  readonly acts: readonly [PromisedAct, PromisedAct]
  readonly anywhere: boolean
}

export function apartByForce(policy: OraclePolicy, { acts, anywhere }: PromisedApart, apart: RolesApart = []): Status {
  const [first, second] = acts.map((act) => {
    const places = callersOf(policy, act, apart).map(
      (caller) => [JSON.stringify(caller), placesOf(policy, act, caller)] as const,
    )
    return new Map(places)
  })
  if (!first || !second) throw new Error('there are two acts')
  if ([first, second].some((places) => [...places.values()].every(({ length }) => length === 0))) return 'undecided'
  const done = (places: readonly Place[]) => places.filter((place) => place.done)
  const both = [...first].map(([caller, places]) => [done(places), done(second.get(caller) ?? [])] as const)
  const able = both.filter((pair) => pair.every(({ length }) => length > 0))
  if (anywhere || able.length === 0) return able.length === 0 ? 'proven' : 'broken'
  const kept = keptLeaves(policy)
  const keptAt = ({ point: { holding }, action }: Place) => ({
    action,
    holding: kept.filter((name) => holding.stored.has(name)).join(),
  })
  const isOne = (a: ReturnType<typeof keptAt>, b: ReturnType<typeof keptAt>) =>
    a.holding === b.holding && !(a.action === b.action && ['create', 'delete'].includes(a.action))
  const isBroken = able.some(([some, others]) => {
    const later = others.map(keptAt)
    return some.map(keptAt).some((a) => later.some((b) => isOne(a, b)))
  })
  return isBroken ? 'broken' : 'proven'
}

interface Place {
  readonly action: string
  readonly point: Point
  readonly done: boolean
}

/** Where the act says something, and whether the caller can do it there. */
function placesOf(policy: OraclePolicy, { actions, fields, terms }: PromisedAct, caller: OracleCaller) {
  return actions.flatMap((action) => {
    const lines = linesOf({ kind: 'apart', ...(terms && { terms }) }, action)
    const { points, leaves } = allPoints(policy, [...lines, namingAll(policy, action)], action, caller)
    const isDone = (point: Point) =>
      (fields ? fields.some((name) => point.before.has(name)) : point.before.size > 0) &&
      isReachable(point, leaves, action)
    return points.filter(({ after }) => after.size > 0).map((point): Place => ({ action, point, done: isDone(point) }))
  })
}

/** A rule about nobody, so that situations are told apart by all relations. */
function namingAll(policy: OraclePolicy, action: string): OracleRule {
  const relations = [...(policy.relations.get('tasks')?.keys() ?? [])]
  return { subject: 'user:none', resource: 'tasks', actions: [action], relations, views: ['*'], effect: 'deny' }
}

/** The relations that stay as they are for an object, whoever writes it. */
function keptLeaves(policy: OraclePolicy): readonly string[] {
  const leaves = [...(policy.relations.get('tasks') ?? [])].filter(([, one]) => !('all' in one || 'any' in one))
  const anybody = callersOf(policy, { subjects: { except: [] }, actions: [] })
  const points = WRITES.flatMap((action) =>
    anybody.flatMap((caller) => allPoints(policy, [namingAll(policy, action)], action, caller).points),
  )
  const isKept = (field: string) => {
    const owning = leaves.filter(([, one]) => 'equals' in one && one.equals === 'id' && one.field === field)
    const isHeld = ({ stored, proposed }: Point['holding']) =>
      owning.some(([name]) => stored.has(name) && proposed.has(name))
    return points.every(({ before, holding }) => !before.has(field) || isHeld(holding))
  }
  return leaves
    .filter(
      ([, one]) =>
        ('in' in one || 'present' in one || 'atMost' in one || 'atLeast' in one || isOfId(one)) &&
        fieldsIn(one).every(isKept),
    )
    .map(([name]) => name)
}

function isOfId(relation: OracleRelation): boolean {
  return 'equals' in relation && relation.equals === 'id'
}
