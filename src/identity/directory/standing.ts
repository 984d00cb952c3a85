/**
 * Whether what a credential stands on is still there: the user, the session, the roles. Asked with every request, of
 * the store, so that what was taken away has no effect left; the reasons are for the decision record.
 */

import { onceKnown } from '../../base/once-known.ts'
import type { Caller } from '../../decide/caller.ts'
import type { Directory, SessionStanding, Standing } from '../../store/directory.ts'
import type { Authentication, Rejection } from '../caller.ts'
import { isClaimableRole } from '../caller.ts'

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

/** Whoever is disabled or deleted is rejected, whatever the credential. */
export function refusalOf({ disabled, deleted }: Standing, subject: string): Rejection | undefined {
  if (disabled) return rejected('user disabled', subject)
  return deleted ? rejected('user deleted', subject) : undefined
}

/** Of a genuine credential. */
export function rejected(reason: string, subject: string): Rejection {
  return { kind: 'rejected', code: 'token-invalid', reason, subject }
}

/**
 * What becomes of a session's caller. The same caller for the same standing, so that what is known of it needn't be
 * found out again.
 */
function createSessions() {
  const known = new WeakMap<SessionStanding, { readonly token: Caller; readonly found: Authentication }>()
  return (token: Caller, standing: SessionStanding, now: number): Authentication => {
    const { roles, sessionEndsAt } = standing
    if (sessionEndsAt <= now) return rejected('session ended', token.id)
    if (!roles) return rejected('no such user', token.id)
    const last = known.get(standing)
    if (last?.token === token) return last.found
    // The roles are those of the users record now, whatever they were at sign-in.
    const caller = Object.freeze({ ...token, roles: roles.filter(isClaimableRole) })
    const found: Authentication = { kind: 'caller', caller }
    known.set(standing, { token, found })
    return found
  }
}
