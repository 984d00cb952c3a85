/** Who could ask: the people who have a record, and the keys that still work. */
import type { Caller } from '../../decide/caller.ts'
import { USERS } from '../../decide/policy.ts'
import { authenticationOf } from '../../identity/directory/api-key.ts'
import type { StoredObject } from '../../resources/object.ts'
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
