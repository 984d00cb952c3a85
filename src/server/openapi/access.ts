/** What a document is about: the operations and fields of one set of subjects, or of anybody at all. */
import type { GrantTable } from '../../decide/grants/grant-table.ts'
import type { RoleLevel } from '../../decide/grants/role-level.ts'
import type { Limit } from '../../decide/policy.ts'
import type { Snapshot, Subject } from '../../decide/snapshot.ts'
import { concernsObject, type Spot } from '../../decide/space.ts'
import type { Resource, Resources } from '../../resources/resource.ts'

/** Fields; the pseudo-field `*` for an action without. */
export interface Granted {
  /** Those that are granted on some object. */
  readonly some: ReadonlySet<string>
  /** Those that are granted on each object on which the action is allowed at all. */
  readonly every: ReadonlySet<string>
}

export interface Access {
  readonly snapshot: Snapshot
  /** Whether the caller is allowed this at all, on some object. */
  offers(spot: Spot): boolean
  granted(resource: Resource, action: string): Granted
  /** The rate limits that can count this operation of the caller's. */
  limitsOf(spot: Spot): readonly Limit[]
}

interface Asked {
  readonly tables: ReadonlyMap<string, GrantTable>
  readonly snapshot: Snapshot
  readonly subject: Subject
}

/** What these subjects have. */
export async function accessOf(snapshot: Snapshot, subject: Subject, resources: Resources): Promise<Access> {
  const asked = { tables: await tablesOf(snapshot, subject, resources), snapshot, subject }
  const granted = ({ name }: Resource, action: string) => {
    const { grantable, shownInEveryRow } = roleLevelOf(asked, name, action)
    return { some: grantable, every: shownInEveryRow }
  }
  return {
    snapshot,
    offers: (spot) => offers(asked, spot),
    granted,
    limitsOf: (spot) => snapshot.limits.limits.filter((limit) => matches(limit, spot) && concerns(limit, subject)),
  }
}

/** All that there is, whoever has it: every operation, and the fields that some rule allows to somebody. */
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
    limitsOf: (spot) => snapshot.limits.limits.filter((limit) => matches(limit, spot)),
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

function tableOf({ tables }: Asked, resource: string, action: string): GrantTable {
  const table = tables.get(keyOf(resource, action))
  if (!table) throw new Error(`no schema declares ${action} on ${resource}`)
  return table
}

/** As `authorize` decides, object level aside. */
function offers(asked: Asked, spot: Spot): boolean {
  const { route, endpoint, resource } = spot
  const table = tableOf(asked, resource.name, endpoint.action)
  if (endpoint.operation === 'options') return table.unrelated.size > 0
  if (route.kind === 'caller' && !asked.subject.caller) return false
  if (resource.builtIn) return table.unrelated.size > 0
  const { allowed, grantable } = roleLevelOf(asked, resource.name, endpoint.action)
  if (!concernsObject(spot) || endpoint.operation !== 'read' || route.view === undefined) return allowed
  return grantable.intersection(asked.snapshot.viewOf(resource.name, route.view)).size > 0
}

/** The document is the same for all callers with these subjects, whatever attributes they have. */
function roleLevelOf(asked: Asked, resource: string, action: string): RoleLevel {
  const { caller } = asked.subject
  return tableOf(asked, resource, action).roleLevel(() => caller !== undefined)
}

function matches({ match }: Limit, { resource, endpoint }: Spot): boolean {
  return (match.resource ?? resource.name) === resource.name && (match.action ?? endpoint.action) === endpoint.action
}

function concerns({ match: { role }, per }: Limit, { caller, roles }: Subject): boolean {
  if (per === 'subject' && !caller) return false
  if (role === undefined || role === 'everyone') return true
  return role === 'anonymous' ? !caller : roles.has(role)
}
