/** The access that a document describes: the operations and fields of one set of subjects, or of all. */

import { type RouteMethod, routeMethodsOf } from '../../decide/callers-and-routes.ts'
import { passRoleLevel, sightOf } from '../../decide/decide.ts'
import { NO_FACTS, withFacts } from '../../decide/facts.ts'
import { inView } from '../../decide/grants/caller-grants.ts'
import type { GrantTable } from '../../decide/grants/grant-table.ts'
import type { RoleLevel } from '../../decide/grants/role-level.ts'
import { Sight } from '../../decide/grants/sight.ts'
import type { Subject } from '../../decide/grants/subjects.ts'
import type { Limit } from '../../decide/policy.ts'
import type { Snapshot } from '../../decide/snapshot.ts'
import type { Resource, Resources } from '../../resources/resource.ts'

/** Fields, or the pseudo-field `*` for an action without fields. */
export interface FieldsByObject {
  /** Fields that are granted on at least one object. */
  readonly some: ReadonlySet<string>
  /** Fields that are granted on each object on which the action is allowed. */
  readonly every: ReadonlySet<string>
}

export interface Access {
  readonly snapshot: Snapshot
  /** Whether the caller is allowed to use this on at least one object. */
  offers(routeMethod: RouteMethod): boolean
  granted(resource: Resource, action: string): FieldsByObject
  /** The rate limits that can count the caller's use of this operation. */
  limitsOf(routeMethod: RouteMethod): readonly Limit[]
}

interface SubjectAccess {
  readonly tables: ReadonlyMap<string, GrantTable>
  readonly snapshot: Snapshot
  readonly subject: Subject
}

/** The access of these subjects. */
export async function accessOf(snapshot: Snapshot, subject: Subject, resources: Resources): Promise<Access> {
  const asked = { tables: await tablesOf(snapshot, subject, resources), snapshot, subject }
  const offered = new Set<string>()
  for (const routeMethod of routeMethodsOf(resources))
    if (await isOffered(asked, routeMethod)) offered.add(nameOf(routeMethod))
  const granted = ({ name }: Resource, action: string) => {
    const { grantable, shownInEveryRow } = roleLevelOf(asked, name, action)
    return { some: grantable, every: shownInEveryRow }
  }
  return {
    snapshot,
    offers: (routeMethod) => offered.has(nameOf(routeMethod)),
    granted,
    limitsOf: (routeMethod) =>
      snapshot.limits.limits.filter((limit) => matches(limit, routeMethod) && concerns(limit, subject)),
  }
}

/**
 * The fields that an operation shows, cut to the view of the route: a list shows the fields that `list` grants, a
 * write's answer the fields that `read` grants (semantics.md, "The actions").
 */
export function fieldsShown(access: Access, { route, endpoint, resource }: RouteMethod): FieldsByObject {
  const shows = endpoint.operation === 'list' || endpoint.operation === 'read' ? endpoint.action : 'read'
  const { some, every } =
    endpoint.operation === 'watch' ? watched(access, resource, endpoint.action) : access.granted(resource, shows)
  if (route.view === undefined) return { some, every }
  const view = access.snapshot.viewOf(resource.name, route.view)
  return { some: some.intersection(view), every: every.intersection(view) }
}

/** A stream shows what a GET shows, as far as its own action grants it. */
function watched(access: Access, resource: Resource, action: string): FieldsByObject {
  const [watch, read] = [access.granted(resource, action), access.granted(resource, 'read')]
  return { some: read.some.intersection(watch.some), every: read.every.intersection(watch.every) }
}

/** The access of all subjects together: every operation, and the fields that a rule allows to somebody. */
export async function wholeAccess(snapshot: Snapshot, resources: Resources): Promise<Access> {
  const asked = { tables: await tablesOf(snapshot, snapshot.anybody, resources), snapshot, subject: snapshot.anybody }
  const granted = ({ name, fields }: Resource, action: string) => {
    const { allowable, shownInEveryRow } = tableOf(asked, name, action).roleLevel(() => true)
    return allowable.size > 0
      ? { some: allowable, every: shownInEveryRow }
      : { some: new Set(fields.keys()), every: new Set<string>() }
  }
  return {
    snapshot,
    offers: () => true,
    granted,
    limitsOf: (routeMethod) => snapshot.limits.limits.filter((limit) => matches(limit, routeMethod)),
  }
}

async function tablesOf(
  snapshot: Snapshot,
  subject: Subject,
  resources: Resources,
): Promise<ReadonlyMap<string, GrantTable>> {
  const asked = new Map<string, GrantTable>()
  for (const { name, actions } of resources.byName.values()) {
    for (const action of actions.keys()) asked.set(keyOf(name, action), await snapshot.table(subject, name, action))
  }
  return asked
}

function keyOf(resource: string, action: string): string {
  return `${resource} ${action}`
}

function tableOf({ tables }: SubjectAccess, resource: string, action: string): GrantTable {
  const table = tables.get(keyOf(resource, action))
  if (!table) throw new Error(`no schema declares ${action} on ${resource}`)
  return table
}

/** Runs the checks that need no object. A read must also show a field of the route's view. */
async function isOffered({ tables, snapshot, subject }: SubjectAccess, routeMethod: RouteMethod): Promise<boolean> {
  const attributes = [...tables.values()].flatMap((table) => table.attributes)
  // The document is the same for all callers with these subjects, whatever attributes they have.
  const claims = Object.fromEntries(attributes.map((name) => [name, true]))
  const caller = subject.caller && { ...subject.caller, claims }
  const question = { ...routeMethod, subject: { ...subject, caller }, blocked: false, now: 0 }
  const reached = await withFacts(passRoleLevel(question, snapshot), NO_FACTS)
  if (reached.kind === 'grants' && routeMethod.endpoint.operation === 'watch')
    return (await withFacts(sightOf(question, reached, snapshot), NO_FACTS)) instanceof Sight
  if (reached.kind !== 'grants' || routeMethod.endpoint.operation !== 'read') return reached.kind !== 'refused'
  return inView(reached, reached.roleLevel.grantable).size > 0
}

function nameOf({ method, route }: RouteMethod): string {
  return `${method} ${route.path}`
}

function roleLevelOf(asked: SubjectAccess, resource: string, action: string): RoleLevel {
  const { caller } = asked.subject
  return tableOf(asked, resource, action).roleLevel(() => caller !== undefined)
}

function matches({ match }: Limit, { resource, endpoint }: RouteMethod): boolean {
  return (match.resource ?? resource.name) === resource.name && (match.action ?? endpoint.action) === endpoint.action
}

function concerns({ match: { role }, per }: Limit, { caller, roles }: Subject): boolean {
  if (per === 'subject' && !caller) return false
  if (role === undefined || role === 'everyone') return true
  return role === 'anonymous' ? !caller : roles.has(role)
}
