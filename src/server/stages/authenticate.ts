/** Finds the caller of a request. A later stage refuses bad credentials, after the rate limits have counted them. */

import { onceKnown, orElse } from '../../base/now-or-later.ts'
import { Problem } from '../../base/problems/problem.ts'
import type { Snapshot } from '../../decide/snapshot.ts'
import type { Authentication, Credentials, TokenVerifier } from '../../identity/caller.ts'
import type { Store } from '../../store/contract.ts'
import { StoreUnavailable } from '../../store/errors.ts'
import { type AheadParts, readAhead } from './read-ahead.ts'
import type { Stage, Writable } from './stage.ts'
import type { Addressed, Authenticated, Forwarding, Matched, Received } from './state.ts'

export function authenticate(
  verifier: TokenVerifier,
  parts: AheadParts & { readonly store: Pick<Store, 'atOnce'> },
): Stage<Received & Matched & Addressed & Forwarding, Authenticated> {
  const read = (state: Writable<Received & Matched & Addressed & Forwarding & Partial<Authenticated>>) => {
    const verified = verifyCredentials(verifier, state.credentials)
    if (!(verified instanceof Promise) && verified.kind === 'caller') state.ahead = readAhead(parts, state)
    return verified
  }
  return (ctx, next) => {
    const { state } = ctx
    const verified =
      state.credentials.kind === 'bearer' ? orElse(() => parts.store.atOnce(() => read(state)), failed) : read(state)
    return onceKnown(verified, (authentication) => {
      state.authentication = assignRoles(state.policy.snapshot, authentication)
      return next()
    })
  }
}

export function verifyCredentials(
  verifier: TokenVerifier,
  credentials: Credentials,
): Authentication | Promise<Authentication> {
  switch (credentials.kind) {
    case 'none':
      return { kind: 'anonymous' }
    case 'rejected':
      return { kind: 'rejected', code: 'token-invalid', reason: credentials.reason }
    case 'bearer':
      return orElse(() => verifier.verify(credentials.token), failed)
  }
}

function failed(error: unknown): Authentication {
  if (error instanceof StoreUnavailable) return { kind: 'failed', code: 'store-unavailable', cause: error }
  throw error
}

/** What to throw for credentials that can't be verified now. */
export function failureOf({ code, cause }: Extract<Authentication, { kind: 'failed' }>): unknown {
  if (code === 'store-unavailable') return cause
  const headers: Readonly<Record<string, string>> = code === 'key-server-unavailable' ? { 'Retry-After': '10' } : {}
  return new Problem(code, 'The key server gave no usable answer; try again later.', { cause, headers })
}

/** A caller of an OpenID provider gets the roles that roles.yaml gives now for the provider's claims. */
function assignRoles(snapshot: Snapshot, authentication: Authentication): Authentication {
  if (authentication.kind !== 'caller' || authentication.caller.provided === undefined) return authentication
  return { kind: 'caller', caller: snapshot.withRoles(authentication.caller) }
}
