/**
 * What one caller can do now: each action of each resource, its fields, and the number of objects. The decision of a list
 * gives the condition of these objects, and the database counts them.
 */
import { smallestSubsets } from '../../base/subsets.ts'
import { timeText } from '../../base/time.ts'
import type { Caller } from '../../decide/caller.ts'
import type { Condition } from '../../decide/conditions/condition.ts'
import { isBlocked, passRoleLevel } from '../../decide/decide.ts'
import { type FactSource, withFacts } from '../../decide/facts.ts'
import type { CallerGrants } from '../../decide/grants/caller-grants.ts'
import { type DirectPolicy, directPolicy } from '../../decide/grants/direct.ts'
import { USERS } from '../../decide/policy.ts'
import { isClaimableRole } from '../../identity/caller.ts'
import { authenticationOf } from '../../identity/directory/api-key.ts'
import { revisionOf } from '../../policy/policy-files.ts'
import type { StoredObject } from '../../resources/object.ts'
import type { Resource, Resources } from '../../resources/resource.ts'
import { storedResources } from '../../resources/stored-resources.ts'
import { type AskedRoute, actionsAsked, asListing } from '../../server/authzen/ask.ts'
import type { OpenedStore } from '../../store/contract.ts'
import { type LoadedPolicy, ToolError } from '../load-policy.ts'
import { type Cases, casesText, type JudgedRequest, judge, MOST_UNKNOWN, questionBy } from './judge.ts'

export interface OfQuestion {
  readonly reviewed: LoadedPolicy
  readonly resources: Resources
  readonly opened: Pick<OpenedStore, 'store' | 'directory'>
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
  /** All but `active` can do nothing. */
  readonly status: 'active' | 'blocked' | 'disabled' | 'deleted' | 'ended'
  readonly resources: readonly ResourceOf[]
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
  const report = { ...head, subject: caller.id, roles: caller.roles, status }
  if (status !== 'active') return { ...report, resources: [], undecided: [] }
  const record = resources.byName.has(USERS) ? await opened.store.get(USERS, caller.id) : undefined
  const found = await new CallersReach(question, listsObjects).of(caller, record)
  const unknown = record ? [] : [{ resource: '*', action: '*', why: NO_RECORD }]
  return { ...report, ...found, undecided: [...unknown, ...found.undecided] }
}

/** What callers can do, one after the other: the same objects are counted once. */
export class CallersReach {
  readonly #question: Omit<OfQuestion, 'named' | 'listsObjects'>
  readonly #snapshot: DirectPolicy
  readonly #counts: ReadonlyMap<string, ObjectCounts>

  constructor(question: Omit<OfQuestion, 'named' | 'listsObjects'>, listsObjects: boolean) {
    const { reviewed, resources, opened, now } = question
    this.#question = question
    this.#snapshot = directPolicy(reviewed.policy, resources, now)
    const stored = storedResources(resources)
    this.#counts = new Map(stored.map((one) => [one.name, new ObjectCounts(opened.store, one, listsObjects)]))
  }

  /** `record`: of the caller. */
  async of(caller: Caller, record: StoredObject | undefined): Promise<Pick<OfReport, 'resources' | 'undecided'>> {
    const { allowed, undecided } = await this.allowed(caller, record)
    const found: ResourceOf[] = []
    for (const [resource, some] of Map.groupBy(allowed, (one) => one.resource)) {
      const actions: ActionOf[] = []
      for (const { action, cases } of some) {
        for (const one of cases) {
          const row = await this.#counts.get(resource)?.row({ action, when: one.when }, one.allowed)
          if (row) actions.push(row)
        }
      }
      if (actions.length > 0) found.push({ resource, objects: await this.count(resource, ALL), actions })
    }
    return { resources: found, undecided }
  }

  async count(resource: string, where: Condition): Promise<number> {
    return (await this.#counts.get(resource)?.count(where)) ?? 0
  }

  /** The conditions, which the database hasn't been asked about. */
  async allowed(
    caller: Caller,
    record: StoredObject | undefined,
  ): Promise<{ readonly allowed: readonly AllowedAction[]; readonly undecided: OfReport['undecided'] }> {
    const { reviewed, resources, opened, now } = this.#question
    const facts: FactSource = {
      user: () => record,
      object: (resource, id) => opened.store.get(resource, id),
      lookup: (lookup) => opened.store.lookup(lookup),
    }
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
    for (const resource of this.#counts.keys()) {
      for (const target of actionsAsked(resources, resource)) {
        const found = await allowedCases({ request: { ...common, target }, caller, facts })
        if (found) allowed.push(found)
        else undecided.push({ resource, action: target.endpoint.action, why: TOO_MANY })
      }
    }
    return { allowed, undecided }
  }
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

interface CallerOfReport {
  readonly caller: Caller
  readonly key: string | null
  readonly status: OfReport['status']
}

async function callerNamed({ named, opened: { directory }, reviewed, now }: OfQuestion): Promise<CallerOfReport> {
  const [, kind = '', id = ''] = /^(user|key):(.+)$/s.exec(named) ?? []
  if (kind === '')
    throw new ToolError(`\`${named}\` names nobody: write user:<id> of a person, or key:<id> of an API key`)
  const blockedOr = (status: OfReport['status'], subject: string) =>
    status === 'active' && isBlocked(reviewed.blocked, subject, now) ? 'blocked' : status
  if (kind === 'user') {
    const { roles = [], disabled, deleted } = await directory.accountStatus(id)
    const status = disabled ? 'disabled' : deleted ? 'deleted' : 'active'
    const caller = { id, roles: roles.filter(isClaimableRole), claims: {} }
    return { caller, key: null, status: blockedOr(status, id) }
  }
  const found = await directory.keyStatus(id)
  if (!found) throw new ToolError(`there is no API key \`${id}\`: \`sallyport key list\` names them`)
  const authentication = authenticationOf(found, now)
  if (authentication.kind === 'caller')
    return { caller: authentication.caller, key: id, status: blockedOr('active', found.key.subject) }
  const { disabled, deleted, key } = found
  const status = disabled ? 'disabled' : deleted ? 'deleted' : 'ended'
  return { caller: { id: key.subject, roles: key.roles, claims: {} }, key: id, status }
}

interface ActionQuestion {
  readonly request: JudgedRequest
  readonly caller: Caller
  readonly facts: FactSource
}

/** Undefined if too much is unknown. */
async function allowedCases({ request, caller, facts }: ActionQuestion): Promise<AllowedAction | undefined> {
  const { resource, endpoint } = request.target
  const named = new Set<string>()
  const allowedWith = async (assumed: readonly string[]): Promise<Allowed | undefined> => {
    if (endpoint.operation === 'create') {
      const asking = questionBy(request, caller, new Set(assumed), named)
      const { answer, fields } = await judge(request, asking, facts)
      return answer === 'no' ? undefined : { created: [...fields] }
    }
    const asked = { ...request, target: asListing(request.target) }
    const asking = questionBy(asked, caller, new Set(assumed), named)
    const grants = await withFacts(passRoleLevel(asking, request.snapshot), facts)
    return grants.kind === 'grants' ? { where: objectsOf(grants, request.target, caller) } : undefined
  }
  const first = await allowedWith([])
  if (named.size > MOST_UNKNOWN) return undefined
  const unknown = [...named]
  const found: { readonly set: readonly string[]; readonly allowed: Allowed }[] = []
  for (const set of smallestSubsets(unknown)) {
    const allowed = set.length === 0 ? first : await allowedWith(set)
    if (allowed) found.push({ set, allowed })
  }
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
  /** For a change: whatever the request sends. */
  readonly stored: Condition | undefined
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
  return {
    any: within(table.where(asking, conditions.holding, view)),
    stored: isChange ? within(table.whereStored(asking, conditions.holding)) : undefined,
    byFields: classes.flatMap(({ fields, where }) => {
      const some = fields.filter(shown)
      return some.length === 0 ? [] : [{ fields: some, where: within(where) }]
    }),
  }
}

const PAGE = 1000

class ObjectCounts {
  readonly #store: OpenedStore['store']
  readonly #resource: Resource
  readonly #listsObjects: boolean
  readonly #known = new Map<string, Promise<number>>()

  constructor(store: OpenedStore['store'], resource: Resource, listsObjects: boolean) {
    this.#store = store
    this.#resource = resource
    this.#listsObjects = listsObjects
  }

  count(where: Condition): Promise<number> {
    if (where.kind === 'never') return Promise.resolve(0)
    return this.#known.getOrInsertComputed(JSON.stringify(where), () => this.#count(where))
  }

  async #count(where: Condition): Promise<number> {
    const { found, isExact } = await this.#store.count(this.#resource.name, { where })
    if (isExact) return found
    throw new ToolError(
      `the objects of \`${this.#resource.name}\` take too long to count: try again on an idle database`,
    )
  }

  /** Undefined if it is allowed on no object. */
  async row(named: Pick<ActionOf, 'action' | 'when'>, allowed: Allowed): Promise<ActionOf | undefined> {
    if ('created' in allowed) {
      const fields = allowed.created.length === 0 ? [] : [{ names: allowed.created, objects: null }]
      return { ...named, objects: null, byValues: 0, fields }
    }
    const { any, stored, byFields } = allowed.where
    const objects = await this.count(any)
    const byValues = stored ? (await this.count({ kind: 'some', of: [any, stored] })) - objects : 0
    if (objects + byValues === 0) return undefined
    const fields: { names: readonly string[]; objects: number }[] = []
    for (const [, same] of Map.groupBy(byFields, (one) => JSON.stringify(one.where))) {
      const granted = await this.count(same[0]?.where ?? any)
      if (granted > 0) fields.push({ names: same.flatMap((one) => one.fields), objects: granted })
    }
    return { ...named, objects, byValues, fields, ...(this.#listsObjects && { ids: await this.#ids(any) }) }
  }

  async #ids(where: Condition): Promise<readonly string[]> {
    const ids: string[] = []
    for (let more = true; more; ) {
      const after = ids.length === 0 ? {} : { after: [ids.at(-1) as string] }
      const found = await this.#store.list(this.#resource.name, { where, limit: PAGE, ...after })
      ids.push(...found.map(({ id }) => id))
      more = found.length === PAGE
    }
    return ids
  }
}
