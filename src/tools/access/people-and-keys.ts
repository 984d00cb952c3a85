/** Who could ask: the people who have a record, the keys that still work, and the one of them that a command names. */
import type { Caller } from '../../decide/caller.ts'
import { isBlocked } from '../../decide/decide.ts'
import { USERS } from '../../decide/policy.ts'
import { isClaimableRole } from '../../identity/caller.ts'
import { authenticationOf } from '../../identity/directory/api-key.ts'
import type { StoredObject } from '../../resources/object.ts'
import type { Resources } from '../../resources/resource.ts'
import type { Person } from '../../store/directory.ts'
import { type LoadedPolicy, ToolError } from '../load-policy.ts'
import type { AccessOpened } from './granted-roles.ts'
import { eachPage } from './objects-in-memory.ts'

export interface WhoCaller {
  readonly caller: Caller
  readonly disabled: boolean
  readonly key?: string
  readonly ends?: number
}

/** All users records, by id; as they were, where that is known. */
export async function recordsIn({
  store,
  past,
}: Pick<AccessOpened, 'store' | 'past'>): Promise<ReadonlyMap<string, StoredObject>> {
  const records = new Map<string, StoredObject>()
  await eachPage(store, USERS, { has: () => true }, (page) => {
    for (const { id, createdAt, updatedAt, ...document } of page) {
      const times = { createdAt: String(createdAt), updatedAt: String(updatedAt) }
      records.set(String(id), { id: String(id), version: 1, ...times, document })
    }
  })
  for (const [id, then] of (await past?.otherThen(USERS)) ?? []) {
    if (then) records.set(id, then)
    else records.delete(id)
  }
  return records
}

/** The keys that still work, as the server takes them. */
export async function workingKeys({
  opened: { directory },
  now,
}: {
  readonly opened: Pick<AccessOpened, 'directory'>
  readonly now: number
}): Promise<readonly WhoCaller[]> {
  const found: WhoCaller[] = []
  for (const { id, expiresAt, revokedAt } of await directory.keys()) {
    const status = revokedAt === null && expiresAt > now ? await directory.keyStatus(id) : undefined
    const authentication = status && authenticationOf(status, now)
    if (authentication?.kind !== 'caller') continue
    found.push({ caller: authentication.caller, disabled: false, key: id, ends: expiresAt })
  }
  return found
}

/** A person with the roles of the directory. */
export function callerOf({ id, roles }: Pick<Person, 'id' | 'roles'>): Caller {
  return { id, roles: roles.filter(isClaimableRole), claims: {} }
}

interface CallerOfToday {
  readonly caller: Caller
  readonly key: string | null
  readonly record: StoredObject | undefined
}

/** People who aren't disabled, and keys that work. */
export async function callersOfToday({
  resources,
  opened,
  now,
}: {
  readonly resources: Resources
  readonly opened: AccessOpened
  readonly now: number
}): Promise<readonly CallerOfToday[]> {
  const records = resources.byName.has(USERS)
    ? await recordsIn({ store: opened.store, past: undefined })
    : new Map<string, StoredObject>()
  const people = (await opened.directory.people()).filter(({ account }) => account?.disabled !== true)
  const callers = [
    ...people.map((one) => ({ caller: callerOf(one), key: null })),
    ...(await workingKeys({ opened, now })).map(({ caller, key = null }) => ({ caller, key })),
  ]
  return callers.map((one) => ({ ...one, record: records.get(one.caller.id) }))
}

// ---- The caller that `access of` names, and whether it can do anything at all.

/** All but `active` can do nothing. */
export type CallerStatus = 'active' | 'blocked' | 'disabled' | 'deleted' | 'ended'

interface CallerToName {
  readonly reviewed: Pick<LoadedPolicy, 'blocked'>
  readonly opened: Pick<AccessOpened, 'directory'>
  /** `user:<id>` or `key:<id>`. */
  readonly named: string
  readonly now: number
}

interface CallerOfReport {
  readonly caller: Caller
  readonly key: string | null
  readonly status: CallerStatus
}

/** Throws ToolError for a name of nobody. */
export async function callerNamed({
  named,
  opened: { directory },
  reviewed,
  now,
}: CallerToName): Promise<CallerOfReport> {
  const [, kind = '', id = ''] = /^(user|key):(.+)$/s.exec(named) ?? []
  if (kind === '')
    throw new ToolError(`\`${named}\` names nobody: write user:<id> of a person, or key:<id> of an API key`)
  const blockedOr = (status: CallerStatus, subject: string) =>
    status === 'active' && isBlocked(reviewed.blocked, subject, now) ? 'blocked' : status
  if (kind === 'user') {
    const { roles = [], disabled, deleted } = await directory.accountStatus(id)
    const status = disabled ? 'disabled' : deleted ? 'deleted' : 'active'
    return { caller: callerOf({ id, roles }), key: null, status: blockedOr(status, id) }
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
