/**
 * Who can make a request now: people of the directory, API keys, and whoever has a token. The gate decides once for all
 * who are alike (src/analysis/callers-alike.ts), as a search of AuthZEN does.
 */

import { type CallersAlike, callersAlike, findIn } from '../../analysis/callers-alike.ts'
import { byText } from '../../base/by-text.ts'
import { timeText } from '../../base/time.ts'
import type { Caller } from '../../decide/caller.ts'
import { anyCaller } from '../../decide/callers-and-routes.ts'
import { isBlocked } from '../../decide/decide.ts'
import type { FactSource } from '../../decide/facts.ts'
import { askingOf } from '../../decide/grants/caller-grants.ts'
import { type DirectPolicy, directPolicy } from '../../decide/grants/direct.ts'
import { servedRoute } from '../../decide/object-routes.ts'
import { leavesOf, stepsIn } from '../../decide/relations/all-kinds.ts'
import { filledFields } from '../../decide/relations/ownership.ts'
import type { CallerValues } from '../../decide/relations/relation-kind.ts'
import { describeCondition } from '../../decide/request-conditions/all-conditions.ts'
import { namesIn } from '../../decide/rules/terms.ts'
import { isSubject } from '../../identity/caller.ts'
import { revisionOf } from '../../policy/policy-files.ts'
import { represent, type StoredObject } from '../../resources/object.ts'
import type { Endpoint, Resource, Resources } from '../../resources/resource.ts'
import { stateAt } from '../../store/changes.ts'
import type { RouteRequest } from '../explain/request.ts'
import { quoteRules } from '../explain/text/quote-rules.ts'
import { type LoadedPolicy, ToolError } from '../load-policy.ts'
import { type AccessOpened, type ReportedGrant, reportedGrants } from './granted-roles.ts'
import { type Cases, type FieldsInCase, type InCases, inCases, type JudgedRequest, judge, questionBy } from './judge.ts'
import type { TakenAsToday } from './past-objects.ts'
import { callerOf, recordsIn, type WhoCaller, workingKeys } from './people-and-keys.ts'
import { decideAssuming, refusedWith, relationsOfToken } from './tokens.ts'

export interface WhoQuestion {
  readonly reviewed: LoadedPolicy
  readonly resources: Resources
  readonly opened: AccessOpened
  readonly request: RouteRequest
  readonly path: string
  readonly field: string | undefined
  readonly now: number
  /** When a subject, or `key <id>`, was last allowed this; undefined without a decision log. */
  readonly lastDone: ReadonlyMap<string, string> | undefined
}

export interface WhoReport {
  readonly at: string
  readonly revision: string
  readonly request: {
    readonly method: string
    readonly path: string
    readonly resource: string
    readonly action: string
    readonly object: string | null
    readonly field: string | null
  }
  readonly who: readonly WhoCan[]
  readonly undecided: readonly UndecidedWho[]
  /** Resources whose objects may have been others at the time, and why nobody can tell. */
  readonly asToday: readonly TakenAsToday[]
  /** The lines of policy.csv that `who` names, and the conditions of the request. */
  readonly rules: readonly { readonly place: string; readonly text: string; readonly until: string | null }[]
  readonly conditions: readonly { readonly name: string; readonly meaning: string }[]
}

/** `token`: whoever has a token with this subject or role, without a users record; `anyone`: without credentials. */
type WhoKind = 'anyone' | 'token' | 'person' | 'key'

interface WhoNamed {
  readonly kind: WhoKind
  /** Null for any. */
  readonly subject: string | null
  readonly roles: readonly string[]
  readonly key: string | null
}

export interface WhoCan extends WhoNamed {
  /** Empty: always; else one of these: conditions of the request, and for tokens relations to the object. */
  readonly when: Cases
  /** It also depends on the values that the request sends. */
  readonly dependsOnValues: boolean
  /** For tokens: roles and `user:<id>` that a token may have besides, and whose denies would match. */
  readonly unless: readonly string[]
  /** In the first case. */
  readonly fields: readonly string[]
  readonly byCase: readonly FieldsInCase[]
  /** The places of the lines that decide. */
  readonly rules: readonly string[]
  /** The relations that these lines name, and the objects that give each of them. */
  readonly relations: readonly { readonly name: string; readonly through: readonly string[] }[]
  /** Why the person has some of the roles until a time. */
  readonly grants: readonly ReportedGrant[]
  /** The first time at which one of these lines, roles or keys ends. */
  readonly ends: string | null
  readonly lastDone: string | null
}

export interface UndecidedWho extends WhoNamed {
  readonly why: string
}

/** Objects on which the relations of one object rest: more are not read to find out who is alike. */
const MOST_RELATED = 100_000
const TOO_MUCH = 'the rules ask for too many conditions of the request: ask `policy explain` for one caller'

/** Throws ToolError, and what the store throws. */
export async function whoCan(question: WhoQuestion): Promise<WhoReport> {
  const asking = await prepare(question)
  const who: WhoCan[] = []
  const undecided: UndecidedWho[] = []
  const add = (named: WhoNamed, found: InCases | undefined, more: More) => {
    if (!found) undecided.push({ ...named, why: TOO_MUCH })
    else if (found.when) who.push(rowOf(asking, named, { ...found, when: found.when }, more))
  }
  add({ kind: 'anyone', subject: null, roles: [], key: null }, await casesFor(asking, undefined), {})
  for (const role of [undefined, ...question.reviewed.policy.roles.keys()]) await addToken(asking, { role }, add)
  for (const id of await idsWithoutRecord(asking)) await addToken(asking, { id }, add)
  if (!asking.alike.lookup) {
    const why = 'too many objects are related to this one to say which callers without a users record they name'
    undecided.push({ kind: 'token', subject: null, roles: [], key: null, why })
  }
  for (const one of asking.people.values()) await addCaller(asking, one, add)
  for (const one of await workingKeys(asking)) await addCaller(asking, one, add)
  return reportOf(asking, who, undecided)
}

interface More {
  readonly valuesOf?: CallerValues
  readonly ends?: number
}

type Add = (named: WhoNamed, found: InCases | undefined, more: More) => void

interface Asking extends WhoQuestion {
  readonly judged: JudgedRequest
  readonly snapshot: DirectPolicy
  readonly object: StoredObject | undefined
  readonly alike: CallersAlike
  /** The object is the caller's own, or the caller's values may fill fields, also of an object that a command creates. */
  readonly isOwn: boolean
  readonly people: ReadonlyMap<string, WhoCaller>
  readonly records: ReadonlyMap<string, StoredObject>
  readonly known: Map<string, InCases | undefined>
}

async function prepare(question: WhoQuestion): Promise<Asking> {
  const { reviewed, resources, opened, request, field, now } = question
  const { route, endpoint, id } = request
  const resource = resources.byName.get(route.resource)
  if (!resource) throw new Error(`no schema declares ${route.resource}`)
  if (field !== undefined && !resource.fields.has(field)) {
    const fields = [...resource.fields.keys()].join(', ')
    throw new ToolError(`\`${resource.name}\` has no field \`${field}\`: name one of ${fields}`)
  }
  if (field !== undefined && !resource.actions.get(endpoint.action)?.hasFields) {
    throw new ToolError(`${request.method} concerns no field: omit --field`)
  }
  const snapshot = directPolicy(reviewed.policy, resources, now)
  const object = id === undefined ? undefined : await objectOf(opened, resource, { id, now })
  if (id !== undefined && !object) throw new ToolError(missingText(request, id))
  const alike = await callersAlike({
    snapshot,
    resource,
    asked: actionsOf(resource, endpoint, now),
    object: object && represent(object),
    find: opened.past?.find(MOST_RELATED) ?? findIn(opened.store, MOST_RELATED),
  })
  const fills =
    endpoint.operation === 'create' && filledFields(resource, snapshot.ownershipOf(resource.name)).length > 0
  nameRelated(opened, alike)
  const judged = {
    resources,
    snapshot,
    blocked: reviewed.blocked,
    target: { resource, route, endpoint },
    id,
    field,
    now,
  }
  const people = await opened.directory.people()
  const callers = people.map((one): WhoCaller => {
    return { caller: callerOf(one), disabled: one.account?.disabled === true }
  })
  const readsRecords = alike.attributes.length > 0 || fills
  return {
    ...question,
    judged,
    snapshot,
    object,
    alike,
    isOwn: fills || route.kind === 'caller' || (route.command?.creates.length ?? 0) > 0,
    people: new Map(callers.map((one) => [one.caller.id, one])),
    records: readsRecords ? await recordsIn(opened) : new Map(),
    known: new Map(),
  }
}

/** Whoever may sees the history of a deleted object, which isn't there to be decided about. */
function missingText({ route }: RouteRequest, id: string): string {
  const none = `no object of \`${route.resource}\` has the id \`${id}\``
  return route.history
    ? `${none}: name another one or, if it was deleted, a time before that (--at)`
    : `${none}, so everybody gets 404: name another one`
}

/** Whoever follows events must be able to list and read, too. */
function actionsOf(resource: Resource, { operation, action }: Endpoint, now: number): readonly string[] {
  const beside = operation === 'watch' ? (['list', 'read'] as const) : []
  return [action, ...beside.map((one) => servedRoute(resource, one, now)?.endpoint.action ?? one)]
}

/** Where too many objects are related, the database is asked, which knows the present. */
function nameRelated({ past }: AccessOpened, { lookup, compared }: CallersAlike): void {
  if (lookup) return
  for (const { resource } of compared.flatMap(stepsIn))
    past?.takeAsToday(resource, 'too many objects are related to this one')
}

/** As it was at the time, where its history is kept. */
async function objectOf(
  { store, changes, past }: AccessOpened,
  { name, routes }: Resource,
  { id, now }: { readonly id: string; readonly now: number },
): Promise<StoredObject | undefined> {
  const object = await store.get(name, id)
  const time = new Date(now).toISOString()
  const isPast = object === undefined || object.updatedAt > time
  if (!isPast) return object
  if (!routes.some(({ history }) => history)) {
    if (object) await past?.otherThen(name)
    return object
  }
  const then = await stateAt(changes, { resource: name, id }, object, time)
  if (!then && object)
    throw new ToolError(`the history of \`${id}\` in \`${name}\` doesn't tell what it was then: ask for a later time`)
  return then?.object
}

function factsOf({ opened: { store }, object, alike, records, judged: { target } }: Asking): FactSource {
  return {
    user: (id) => records.get(id),
    object: (resource, id) =>
      object?.id === id && resource === target.resource.name ? object : store.get(resource, id),
    lookup: alike.lookup ?? ((lookup) => store.lookup(lookup)),
  }
}

function casesFor(asking: Asking, caller: Caller | undefined, id?: string): Promise<InCases | undefined> {
  const request = id === undefined ? asking.judged : { ...asking.judged, id }
  return inCases((assumed, named) => judge(request, questionBy(request, caller, assumed, named), factsOf(asking)))
}

/** A person or a key: decided as the first one who is alike. */
async function addCaller(asking: Asking, { caller, disabled, key, ends }: WhoCaller, add: Add): Promise<void> {
  if (disabled) return
  const { snapshot, alike, isOwn, known, now, reviewed } = asking
  const { valuesOf } = askingOf(caller, asking.records.get(caller.id), now)
  const blocked = isBlocked(reviewed.blocked, caller.id, now)
  const group = isOwn ? caller.id : alike.keyOf({ subject: snapshot.subjectOf(caller), blocked, valuesOf })
  const kind = key === undefined ? 'person' : 'key'
  const name = `${kind} ${group}`
  const own = asking.judged.target.route.kind === 'caller' ? caller.id : undefined
  const found = known.has(name) ? known.get(name) : await casesFor(asking, caller, own)
  known.set(name, found)
  const named = { kind, subject: caller.id, roles: caller.roles, key: key ?? null } as WhoNamed
  add(named, found, { valuesOf, ...(ends !== undefined && { ends }) })
}

/** Those that rules or the object name, and that may still sign in elsewhere. */
async function idsWithoutRecord({ reviewed, opened, alike, people }: Asking): Promise<readonly string[]> {
  const ofRules = reviewed.policy.rules.map(({ subject }) => subject).filter((subject) => subject.startsWith('user:'))
  const named = [...ofRules.map((subject) => subject.slice('user:'.length)), ...(alike.valuesNamed('id') ?? [])]
  const ids: string[] = []
  for (const id of new Set(named)) {
    if (!isSubject(id) || people.has(id)) continue
    const { disabled, deleted } = await opened.directory.accountStatus(id)
    if (!disabled && !deleted) ids.push(id)
  }
  return ids.toSorted(byText)
}

interface OfToken {
  readonly role?: string | undefined
  readonly id?: string
}

/** A token's claims aren't known: each relation that some caller could have counts as unknown. */
async function addToken(asking: Asking, { role, id }: OfToken, add: Add): Promise<void> {
  const { reviewed, object, judged: request } = asking
  const roles = role === undefined ? [] : [role]
  const named: WhoNamed = { kind: 'token', subject: id ?? null, roles, key: null }
  if (request.target.route.kind === 'caller' && id === undefined) return
  const caller = anyCaller(reviewed.policy, { id, roles })
  if (object) {
    const question = { ...asking, object }
    const tries = await relationsOfToken(question, id, factsOf(asking))
    const decideIn = (assumed: ReadonlySet<string>, names: Set<string>) =>
      decideAssuming(question, caller, tries, { assumed, named: names })
    add(named, await inCases(decideIn), {})
    return
  }
  const found = await casesFor(asking, caller, id)
  const bare = await casesFor(asking, { ...caller, claims: {} }, id)
  const depends = found?.when && !bare?.when
  const told = depends ? { ...found, judged: { ...found.judged, answer: 'depends' as const } } : bare
  const casesOf = (other: Caller, otherId: string | undefined) => casesFor(asking, other, otherId)
  const unless = id === undefined && told?.when ? await refusedWith(asking, roles, casesOf) : []
  add(named, told && { ...told, judged: { ...told.judged, unless } }, {})
}

function rowOf(
  asking: Asking,
  named: WhoNamed,
  found: InCases & { readonly when: Cases },
  { valuesOf, ends }: More,
): WhoCan {
  const { reviewed, alike, lastDone } = asking
  const { evidence, fields, answer, unless = [] } = found.judged
  const lines = new Set(evidence?.lines)
  const rules = reviewed.policy.rules.filter(({ line }) => lines.has(line))
  const terms = new Set(rules.flatMap(namesIn))
  const related = alike.compared.filter(({ name }) => terms.has(name) && evidence?.relations.includes(name))
  const naming = valuesOf ? alike.namingOf(valuesOf).map(([object]) => object) : []
  const { opened, now } = asking
  const granted = named.kind === 'person' ? reportedGrants(opened.grants, named.subject ?? '', now) : []
  const others = [...(ends === undefined ? [] : [ends]), ...granted.map(({ until }) => Date.parse(until))]
  const ending = [...rules.flatMap(({ until }) => until ?? []), ...others]
  return {
    ...named,
    when: found.when,
    dependsOnValues: answer === 'depends',
    unless,
    fields: [...fields],
    byCase: found.byCase,
    rules: rules.map(({ line }) => `policy.csv:${line}`),
    relations: related.map((relation) => ({
      name: relation.name,
      through: [...new Set(naming.filter(({ leaf }) => leavesOf(relation).includes(leaf)).flatMap(({ path }) => path))],
    })),
    grants: granted,
    ends: ending.length === 0 ? null : timeText(Math.min(...ending)),
    lastDone: lastDone?.get(named.key === null ? (named.subject ?? '') : `key ${named.key}`) ?? null,
  }
}

function reportOf(asking: Asking, who: readonly WhoCan[], undecided: readonly UndecidedWho[]): WhoReport {
  const { reviewed, request, path, field, now, judged } = asking
  const { resource, endpoint } = judged.target
  const places = new Set(who.flatMap(({ rules }) => rules))
  const rules = reviewed.policy.rules.filter(({ line }) => places.has(`policy.csv:${line}`))
  const names = new Set(who.flatMap(({ when }) => when.flatMap((one) => one.replaceAll('!', '').split('+'))))
  const conditions = [...reviewed.policy.conditions.values()].filter(({ name }) => names.has(name))
  return {
    at: timeText(now),
    revision: revisionOf(reviewed.files, reviewed.blockedFile),
    request: {
      method: request.method,
      path,
      resource: resource.name,
      action: endpoint.action,
      object: judged.id ?? null,
      field: field ?? null,
    },
    who,
    undecided,
    asToday: asking.opened.past?.asToday ?? [],
    rules: quoteRules(reviewed, rules).map((quoted, i) => {
      const until = rules[i]?.until
      return { ...quoted, until: until === undefined ? null : timeText(until) }
    }),
    conditions: conditions.map((one) => ({ name: one.name, meaning: describeCondition(one) })),
  }
}
