/**
 * Whether the user, the session and the roles behind a credential still exist. Every request asks the store, so that
 * revoked access ends at once. The reasons are for the decision record.
 */

import { onceKnown } from '../../base/now-or-later.ts'
import type { Caller } from '../../decide/caller.ts'
import type { Directory, SessionStanding, Standing } from '../../store/directory.ts'
import { type Authentication, isClaimableRole, type Rejection } from '../caller.ts'

export type CheckStanding = (authentication: Authentication) => Authentication | Promise<Authentication>

/** `now`: milliseconds since the epoch. Throws StoreUnavailable. */
export function createStanding(
  directory: Pick<Directory, 'standing' | 'sessionStanding'>,
  now: () => number,
): CheckStanding {
  const ofSession = createSessions()
  return (authentication) => {
    if (authentication.kind !== 'caller') return authentication
    const { id, session } = authentication.caller
    if (session === undefined) {
      const standing = directory.standing(id)
      return onceKnown(standing, (found) => refusalOf(found, id) ?? authentication)
    }
    const standing = directory.sessionStanding(id, session)
    return onceKnown(standing, (found) => refusalOf(found, id) ?? ofSession(authentication.caller, found, now()))
  }
}

/** A disabled or deleted user is rejected, whatever the credential. */
export function refusalOf({ disabled, deleted }: Standing, subject: string): Rejection | undefined {
  if (disabled) return rejected('user disabled', subject)
  return deleted ? rejected('user deleted', subject) : undefined
}

/** The rejection of a genuine credential. */
export function rejected(reason: string, subject: string): Rejection {
  return { kind: 'rejected', code: 'token-invalid', reason, subject }
}

/**
 * Gives the caller of a session the roles of the users record. The same standing gives the same caller object, so that
 * results cached for a caller stay usable.
 */
function createSessions() {
  const known = new WeakMap<SessionStanding, { readonly token: Caller; readonly found: Authentication }>()
  return (token: Caller, standing: SessionStanding, now: number): Authentication => {
    const { roles, sessionEndsAt } = standing
    if (sessionEndsAt <= now) return rejected('session ended', token.id)
    if (!roles) return rejected('no such user', token.id)
    const last = known.get(standing)
    if (last?.token === token) return last.found
    // The caller has the present roles of the users record, whatever they were at sign-in.
    const caller = Object.freeze({ ...token, roles: roles.filter(isClaimableRole) })
    const found: Authentication = { kind: 'caller', caller }
    known.set(standing, { token, found })
    return found
  }
}
