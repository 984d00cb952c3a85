/**
 * Whether the user, the session and the roles behind a credential still exist. Every request asks the store, so that
 * revoked access ends at once. The reasons are for the decision record.
 */

import { onceKnown } from '../../base/now-or-later.ts'
import type { Caller } from '../../decide/caller.ts'
import type { AccountStatus, Directory, SessionStatus } from '../../store/directory.ts'
import { type Authentication, isClaimableRole, looksLikeApiKey, type Rejection, type TokenVerifier } from '../caller.ts'

export type CheckAccount = (authentication: Authentication) => Authentication | Promise<Authentication>

/** API keys are looked up together with the state of their subject; tokens are verified by themselves first. */
export function verifyAccounts({ keys, tokens, checkAccount }: AccountVerifiers): TokenVerifier {
  return {
    knows: (credential) => (looksLikeApiKey(credential) ? keys : tokens).knows?.(credential) ?? false,
    verify: (credential) =>
      looksLikeApiKey(credential) ? keys.verify(credential) : onceKnown(tokens.verify(credential), checkAccount),
  }
}

interface AccountVerifiers {
  readonly keys: TokenVerifier
  readonly tokens: TokenVerifier
  readonly checkAccount: CheckAccount
}

/** `now`: milliseconds since the epoch. Throws StoreUnavailable. */
export function createAccountCheck(
  directory: Pick<Directory, 'accountStatus' | 'sessionStatus'>,
  now: () => number,
): CheckAccount {
  const ofSession = createSessions()
  return (authentication) => {
    if (authentication.kind !== 'caller') return authentication
    const { id, session } = authentication.caller
    if (session === undefined) {
      const status = directory.accountStatus(id)
      return onceKnown(status, (found) => refusalOf(found, id) ?? authentication)
    }
    const status = directory.sessionStatus(id, session)
    return onceKnown(status, (found) => refusalOf(found, id) ?? ofSession(authentication.caller, found, now()))
  }
}

/** A disabled or deleted user is rejected, whatever the credential. */
export function refusalOf({ disabled, deleted }: AccountStatus, subject: string): Rejection | undefined {
  if (disabled) return rejected('user disabled', subject)
  return deleted ? rejected('user deleted', subject) : undefined
}

/** The rejection of a genuine credential. */
export function rejected(reason: string, subject: string): Rejection {
  return { kind: 'rejected', code: 'token-invalid', reason, subject }
}

/**
 * Gives the caller of a session the roles of the users record. The same status gives the same caller object, so that
 * results cached for a caller stay usable.
 */
function createSessions() {
  const known = new WeakMap<SessionStatus, { readonly token: Caller; readonly found: Authentication }>()
  return (token: Caller, status: SessionStatus, now: number): Authentication => {
    const { roles, sessionEndsAt } = status
    if (sessionEndsAt <= now) return rejected('session ended', token.id)
    if (!roles) return rejected('no such user', token.id)
    const last = known.get(status)
    if (last?.token === token) return last.found
    // The caller has the present roles of the users record, whatever they were at sign-in.
    const caller = Object.freeze({ ...token, roles: roles.filter(isClaimableRole) })
    const found: Authentication = { kind: 'caller', caller }
    known.set(status, { token, found })
    return found
  }
}
