/**
 * Whether what a credential stands on is still there: the user, the session, the roles. Asked with every request, of the store, so that
 * what was taken away has no effect left; the reasons are for the decision record.
 */
import type { Directory, SessionStanding, Standing } from '../store/directory.ts'
import type { Authentication, Caller } from './caller.ts'
import { onceKnown } from './once-known.ts'
import { isClaimableRole } from './subject.ts'

export type CheckStanding = (authentication: Authentication) => Authentication | Promise<Authentication>

/** `now`: milliseconds since the epoch. Throws StoreUnavailable. */
export function createStanding(
  directory: Pick<Directory, 'standing' | 'sessionStanding'>,
  now: () => number,
): CheckStanding {
  return (authentication) => {
    if (authentication.kind !== 'caller') return authentication
    const { id, session } = authentication.caller
    if (session === undefined) {
      const standing = directory.standing(id)
      return onceKnown(standing, (found) => refusalOf(found) ?? authentication)
    }
    const standing = directory.sessionStanding(id, session)
    return onceKnown(standing, (found) => refusalOf(found) ?? ofSession(authentication.caller, found, now()))
  }
}

/** Whoever is disabled or deleted is refused, whatever the credential. */
export function refusalOf({ disabled, deleted }: Standing): Authentication | undefined {
  if (disabled) return refused('user disabled')
  return deleted ? refused('user deleted') : undefined
}

/** `reason` is for logs, so it never repeats anything of the credential. */
export function refused(reason: string): Authentication {
  return { kind: 'rejected', code: 'token-invalid', reason }
}

/** Its roles are those of the users record now, whatever they were at sign-in. */
function ofSession(caller: Caller, { roles, sessionEndsAt }: SessionStanding, now: number): Authentication {
  if (sessionEndsAt <= now) return refused('session ended')
  if (!roles) return refused('no such user')
  return { kind: 'caller', caller: { ...caller, roles: roles.filter(isClaimableRole) } }
}
