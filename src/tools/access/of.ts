/**
 * What one caller can do now: each action of each resource, its fields, and the number of objects. The decision of a list
 * gives the condition of these objects, and the database counts them.
 */

import { LRUCache } from 'lru-cache'
import { timeText } from '../../base/time.ts'
import type { Caller } from '../../decide/caller.ts'
import { type Condition, withValues } from '../../decide/conditions/condition.ts'
import { passRoleLevel } from '../../decide/decide.ts'
import { type FactSource, withFacts } from '../../decide/facts.ts'
import type { CallerGrants } from '../../decide/grants/caller-grants.ts'
import { type DirectPolicy, directPolicy } from '../../decide/grants/direct.ts'
import { USERS } from '../../decide/policy.ts'
import { revisionOf } from '../../policy/policy-files.ts'
import type { Scalar, StoredObject } from '../../resources/object.ts'
import type { FieldNames, Resources } from '../../resources/resource.ts'
import { storedResources } from '../../resources/stored-resources.ts'
import { type AskedRoute, actionsAsked, asListing } from '../../server/authzen/asked-routes.ts'
import type { OpenedStore } from '../../store/contract.ts'
import { type LoadedPolicy, ToolError } from '../load-policy.ts'
import { CallersByShape } from './callers-by-shape.ts'
import { type AccessOpened, type ReportedGrant, reportedGrants } from './granted-roles.ts'
import { type Cases, casesText, eachCase, type JudgedRequest, judge, questionBy } from './judge.ts'
import type { ObjectCounter } from './objects-in-memory.ts'
import { type CallerStatus, callerNamed } from './people-and-keys.ts'

export interface OfQuestion {
  readonly reviewed: LoadedPolicy
  readonly resources: Resources
  readonly opened: AccessOpened
  /** `user:<id>` or `key:<id>`. */
  readonly named: string
  /** Whether the ids of the objects are listed. */
  readonly listsObjects: boolean
  readonly now: number
}

export interface OfReport {
  readonly at: string
  readonly revision: string
  readonly subject: string
  readonly key: string | null
  readonly roles: readonly string[]
  /** Why it has some of them until a time. */
  readonly grants: readonly ReportedGrant[]
  /** All but `active` can do nothing. */
  readonly status: CallerStatus
  readonly resources: readonly ResourceOf[]
  /** Resources without stored objects. */
  readonly leftOut: readonly string[]
  readonly undecided: readonly { readonly resource: string; readonly action: string; readonly why: string }[]
}

interface ResourceOf {
  readonly resource: string
  readonly objects: number
  readonly actions: readonly ActionOf[]
}

export interface ActionOf {
  readonly action: string
  /** Empty: whatever the request; else in one of these cases. */
  readonly when: Cases
  /** Null for a new object. */
  readonly objects: number | null
  /** Further objects, on which it depends on the values that the request sends. */
  readonly byValues: number
  /** Groups of fields, and on how many objects each is granted; empty for an action without fields. */
  readonly fields: readonly { readonly names: readonly string[]; readonly objects: number | null }[]
  /** Only if they are asked for. */
  readonly ids?: readonly string[]
}

/** Throws ToolError, and what the store throws. */
export async function whatCan(question: OfQuestion): Promise<OfReport> {
  const { reviewed, resources, opened, now, listsObjects } = question
  const { caller, key, status } = await callerNamed(question)
  const head = { at: timeText(now), revision: revisionOf(reviewed.files, reviewed.blockedFile), key }
  const grants = key === null ? reportedGrants(opened.grants, caller.id, now) : []
  const report = { ...head, subject: caller.id, roles: caller.roles, grants, status, leftOut: leftOutOf(resources) }
  if (status !== 'active') return { ...report, resources: [], undecided: [] }
  const record = resources.byName.has(USERS) ? await opened.store.get(USERS, caller.id) : undefined
  const counted = new DatabaseCounter(opened.store)
  const idsOf = listsObjects ? counted.idsOf.bind(counted) : undefined
  const found = await new CallersReach(question, counted).of(caller, record, idsOf)
  const unknown = record ? [] : [{ resource: '*', action: '*', why: NO_RECORD }]
  return { ...report, ...found, undecided: [...unknown, ...found.undecided] }
}

/** Their objects can't be counted: those of the server itself, and those that another service keeps. */
export function leftOutOf(resources: Resources): readonly string[] {
  const counted = new Set(storedResources(resources))
  return [...resources.byName.values()].filter((one) => !counted.has(one)).map(({ name }) => name)
}

/** The conditions of one shape take some kilobytes. */
const MOST_SHAPES = 1000

/** What callers can do, one after the other: those who differ only in values that no rule names are decided once. */
export class CallersReach {
  readonly #question: Omit<OfQuestion, 'named' | 'listsObjects'>
  readonly #snapshot: DirectPolicy
  readonly #counted: ObjectCounter
  readonly #resources: readonly string[]
  readonly #alike: CallersByShape
  /** By shape of the caller and by route: what one of these callers is allowed. */
  readonly #known = new LRUCache<string, Map<AskedRoute, ShapedAction>>({ max: MOST_SHAPES })

  constructor(question: Omit<OfQuestion, 'named' | 'listsObjects'>, counted: ObjectCounter) {
    const { reviewed, resources, now } = question
    this.#question = question
    this.#counted = counted
    this.#snapshot = directPolicy(reviewed.policy, resources, now)
    this.#resources = storedResources(resources).map(({ name }) => name)
    this.#alike = new CallersByShape(reviewed.policy, this.#snapshot, now)
  }

  /** `record`: of the caller. */
  async of(
    caller: Caller,
    record: StoredObject | undefined,
    idsOf?: (resource: string, where: Condition) => Promise<readonly string[]>,
  ): Promise<Pick<OfReport, 'resources' | 'undecided'>> {
    const { allowed, undecided } = await this.allowed(caller, record)
    const found: ResourceOf[] = []
    for (const [resource, some] of Map.groupBy(allowed, (one) => one.resource)) {
      const actions: ActionOf[] = []
      for (const { action, cases } of some) {
        for (const { when, allowed: one } of cases) {
          const row = await rowOf({ action, when }, one, (where) => this.#counted.count(resource, where))
          const ids = idsOf && 'where' in one && { ids: await idsOf(resource, one.where.any) }
          if (row) actions.push({ ...row, ...ids })
        }
      }
      if (actions.length > 0) found.push({ resource, objects: await this.count(resource, ALL), actions })
    }
    return { resources: found, undecided }
  }

  count(resource: string, where: Condition): number | Promise<number> {
    return where.kind === 'never' ? 0 : this.#counted.count(resource, this.#counted.simplest(where))
  }

  /** The conditions, whose objects haven't been counted. */
  async allowed(
    caller: Caller,
    record: StoredObject | undefined,
  ): Promise<{ readonly allowed: readonly AllowedAction[]; readonly undecided: OfReport['undecided'] }> {
    const { reviewed, resources, opened, now } = this.#question
    const shape = this.#alike.shapeOf(caller, record)
    const known = this.#known.get(shape.key) ?? new Map<AskedRoute, ShapedAction>()
    this.#known.set(shape.key, known)
    const common = {
      resources,
      snapshot: this.#snapshot,
      blocked: reviewed.blocked,
      id: undefined,
      field: undefined,
      now,
    }
    const allowed: AllowedAction[] = []
    const undecided: OfReport['undecided'][number][] = []
    for (const resource of this.#resources) {
      for (const target of actionsAsked(resources, resource)) {
        let isShared = true
        const facts: FactSource = {
          user: () => record,
          object: (of, id) => {
            isShared = false
            return opened.store.get(of, id)
          },
          lookup: (lookup) => {
            isShared = false
            return opened.store.lookup(lookup)
          },
        }
        const decided = async () => {
          const action = await allowedCases({ request: { ...common, target }, caller, facts })
          const simplest = (where: Condition) => this.#counted.simplest(where)
          return { action: action && withConditions(action, simplest), values: shape.values }
        }
        const found: ShapedAction = known.get(target) ?? (await decided())
        if (isShared) known.set(target, found)
        if (found.action) allowed.push(withOwnValues({ ...found, action: found.action }, shape.values))
        else undecided.push({ resource, action: target.endpoint.action, why: TOO_MANY })
      }
    }
    return { allowed, undecided }
  }
}

interface ShapedAction {
  /** Undefined if too much is unknown. */
  readonly action: AllowedAction | undefined
  /** The caller's, which its conditions compare. */
  readonly values: readonly Scalar[]
}

function withOwnValues({ action, values }: ShapedAction & { readonly action: AllowedAction }, own: readonly Scalar[]) {
  if (values === own) return action
  const ownOf = new Map(values.map((value, i) => [value, own[i] as Scalar]))
  return withConditions(action, (where) => withValues(where, ({ value }) => ownOf.get(value) ?? value))
}

function withConditions(action: AllowedAction, changed: (where: Condition) => Condition): AllowedAction {
  const cases = action.cases.map((one) => {
    if ('created' in one.allowed) return one
    const { any, either, byFields } = one.allowed.where
    const where = {
      any: changed(any),
      either: either && changed(either),
      byFields: byFields.map((some) => ({ ...some, where: changed(some.where) })),
    }
    return { ...one, allowed: { where } }
  })
  return { ...action, cases }
}

export interface AllowedAction {
  readonly resource: string
  readonly action: string
  /** The conditions of the request that nobody knows beforehand. */
  readonly unknown: readonly string[]
  readonly cases: readonly AllowedCase[]
}

/** In these cases, the same is allowed: each set has the unknown conditions that hold. */
interface AllowedCase {
  readonly sets: readonly (readonly string[])[]
  readonly when: Cases
  readonly allowed: Allowed
}

/** Stored objects, or a new one with these fields. */
export type Allowed = { readonly where: AllowedWhere } | { readonly created: readonly string[] }

const ALL: Condition = { kind: 'always' }
const NO_RECORD = 'there is no users record, so a token may give further roles and attributes'
const TOO_MANY = 'the rules ask for too many conditions of the request'

interface ActionQuestion {
  readonly request: JudgedRequest
  readonly caller: Caller
  readonly facts: FactSource
}

/** Undefined if too much is unknown. */
async function allowedCases({ request, caller, facts }: ActionQuestion): Promise<AllowedAction | undefined> {
  const { resource, endpoint } = request.target
  const tried = await eachCase(async (assumed, named): Promise<Allowed | undefined> => {
    if (endpoint.operation === 'create') {
      const asking = questionBy(request, caller, assumed, named)
      const { answer, fields } = await judge(request, asking, facts)
      return answer === 'no' ? undefined : { created: [...fields] }
    }
    const asked = { ...request, target: asListing(request.target) }
    const asking = questionBy(asked, caller, assumed, named)
    const grants = await withFacts(passRoleLevel(asking, request.snapshot), facts)
    return grants.kind === 'grants' ? { where: objectsOf(grants, request.target, caller) } : undefined
  })
  if (!tried) return undefined
  const { unknown } = tried
  const found = tried.cases.flatMap(({ set, judged: allowed }) => (allowed ? [{ set, allowed }] : []))
  const cases = [...Map.groupBy(found, ({ allowed }) => JSON.stringify(allowed)).values()].flatMap((alike) => {
    const sets = alike.map(({ set }) => set)
    return alike.slice(0, 1).map(({ allowed }) => ({ sets, when: casesText(unknown, sets), allowed }))
  })
  return { resource: resource.name, action: endpoint.action, unknown, cases }
}

/** The objects on which an action is allowed. */
export interface AllowedWhere {
  /** For a change: if all values stay. */
  readonly any: Condition
  /** For a change: or by the values that the request sends. */
  readonly either: Condition | undefined
  /** By the fields that are granted together. */
  readonly byFields: readonly { readonly fields: readonly string[]; readonly where: Condition }[]
}

function objectsOf(grants: CallerGrants, { route, endpoint, resource }: AskedRoute, caller: Caller): AllowedWhere {
  const { table, asking, conditions, view } = grants
  const own: Condition = { kind: 'holds', field: 'id', values: [caller.id] }
  const within = (where: Condition): Condition => (route.kind === 'caller' ? { kind: 'all', of: [where, own] } : where)
  const isChange = endpoint.operation === 'update' || endpoint.operation === 'replace'
  const isWrite = endpoint.operation !== 'read'
  const shown = (name: string) => (view?.has(name) ?? true) && !(isWrite && resource.fields.get(name)?.readOnly)
  const hasFields = resource.actions.get(endpoint.action)?.hasFields === true
  const classes = hasFields ? table.granted(asking, conditions.holding) : []
  // All that a command sets must be granted.
  const views = grants.sets.size > 0 ? [...grants.sets].map((field) => new Set([field])) : [view]
  const inEach = (whereOf: (view: FieldNames | undefined) => Condition) =>
    within(views.length === 1 ? whereOf(views[0]) : { kind: 'all', of: views.map(whereOf) })
  const any = inEach((one) => table.where(asking, conditions.holding, one))
  const stored = isChange ? inEach((one) => table.whereStored(asking, conditions.holding, one)) : undefined
  const byFields = classes.flatMap(({ fields, where }) => {
    const some = fields.filter(shown)
    return some.length === 0 ? [] : [{ fields: some, where: within(where) }]
  })
  return {
    any,
    either: stored && { kind: 'some', of: [any, stored] },
    byFields: [...Map.groupBy(byFields, ({ where }) => JSON.stringify(where)).values()].map((same) => ({
      fields: same.flatMap(({ fields }) => fields),
      where: same[0]?.where ?? any,
    })),
  }
}

const PAGE = 1000

/** Each condition is counted once. */
class DatabaseCounter implements ObjectCounter {
  readonly #store: OpenedStore['store']
  readonly #known = new Map<string, Promise<number>>()

  constructor(store: OpenedStore['store']) {
    this.#store = store
  }

  /** The database finds it. */
  simplest(where: Condition): Condition {
    return where
  }

  count(resource: string, where: Condition): Promise<number> {
    return this.#known.getOrInsertComputed(JSON.stringify([resource, where]), () => this.#count(resource, where))
  }

  async #count(resource: string, where: Condition): Promise<number> {
    const { found, isExact } = await this.#store.count(resource, { where })
    if (isExact) return found
    throw new ToolError(`the objects of \`${resource}\` take too long to count: try again on an idle database`)
  }

  async idsOf(resource: string, where: Condition): Promise<readonly string[]> {
    const ids: string[] = []
    for (let more = true; more; ) {
      const after = ids.length === 0 ? {} : { after: [ids.at(-1) as string] }
      const found = await this.#store.list(resource, { where, limit: PAGE, ...after })
      ids.push(...found.map(({ id }) => id))
      more = found.length === PAGE
    }
    return ids
  }
}

export type CountWhere = (where: Condition) => number | Promise<number>

/** Undefined if it is allowed on no object. */
async function rowOf(
  named: Pick<ActionOf, 'action' | 'when'>,
  allowed: Allowed,
  count: CountWhere,
): Promise<ActionOf | undefined> {
  if ('created' in allowed) {
    const fields = allowed.created.length === 0 ? [] : [{ names: allowed.created, objects: null }]
    return { ...named, objects: null, byValues: 0, fields }
  }
  const { any, either, byFields } = allowed.where
  const objects = await count(any)
  const byValues = either ? (await count(either)) - objects : 0
  if (objects + byValues === 0) return undefined
  const fields: { names: readonly string[]; objects: number }[] = []
  for (const { fields: names, where } of byFields) {
    const granted = await count(where)
    if (granted > 0) fields.push({ names, objects: granted })
  }
  return { ...named, objects, byValues, fields }
}
