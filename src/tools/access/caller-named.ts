/** The caller that `access of` names: a person or an API key, and whether it can do anything at all. */
import type { Caller } from '../../decide/caller.ts'
import { isBlocked } from '../../decide/decide.ts'
import { isClaimableRole } from '../../identity/caller.ts'
import { authenticationOf } from '../../identity/directory/api-key.ts'
import { type LoadedPolicy, ToolError } from '../load-policy.ts'
import type { AccessOpened } from './granted-roles.ts'

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
