/**
 * Finds the caller of a request; a later stage refuses bad credentials. Also reads the object that the request names,
 * in the same look at the database, because two reads at once cost little more than one (docs/decisions/0081).
 */
import { onceKnown, orElse } from '../../base/now-or-later.ts'
import { Problem } from '../../base/problems/problem.ts'
import { type Caller, withGrants } from '../../decide/caller.ts'
import { isPossibleId } from '../../decide/decide.ts'
import type { Authentication, Credentials, TokenVerifier } from '../../identity/caller.ts'
import type { ActivePolicy } from '../../policy/live/active-policy.ts'
import type { Resources } from '../../resources/resource.ts'
import type { Store } from '../../store/contract.ts'
import { StoreUnavailable } from '../../store/errors.ts'
import type { Addressed, Authenticated, Forwarding, Matched, PrefetchedObject, Received, Stage } from './state.ts'

export function authenticate(
  verifier: TokenVerifier,
  parts: PrefetchParts & { readonly store: Pick<Store, 'inOneReadTransaction'> },
): Stage<Received & Matched & Addressed & Forwarding, Authenticated> {
  return (ctx, next) => {
    const { state } = ctx
    const { credentials } = state
    const verified =
      credentials.kind !== 'bearer'
        ? verifyCredentials(verifier, credentials)
        : orElse(
            () =>
              parts.store.inOneReadTransaction(() => {
                const found = verifier.verify(credentials.token)
                if (!(found instanceof Promise) && found.kind === 'caller') state.prefetched = prefetch(parts, state)
                return found
              }),
            failed,
          )
    return onceKnown(verified, (found) => {
      const caller = found.kind === 'caller' ? callerNow(state.policy, found.caller, state.at) : undefined
      const isSame = found.kind !== 'caller' || caller === undefined || caller === found.caller
      state.authentication = isSame ? found : { ...found, caller }
      return next()
    })
  }
}

/**
 * The caller with the roles that it has at a time, in milliseconds since the epoch: those that roles.yaml gives for the
 * claims of an OpenID provider, and those that it was given for a time.
 */
export function callerNow({ snapshot, grants }: ActivePolicy, caller: Caller, now: number): Caller {
  const known = caller.provided === undefined ? caller : snapshot.withRoles(caller)
  return grants ? withGrants(known, grants, now) : known
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

interface PrefetchParts {
  readonly resources: Resources
  readonly store: Pick<Store, 'get'>
}

/** The object whose id is in the path; undefined without an id, or if the object isn't at hand. */
function prefetch(
  { resources, store }: PrefetchParts,
  { match, forwarded }: Matched & Forwarding,
): PrefetchedObject | undefined {
  if (match.kind !== 'route' || match.endpoint.operation === 'options' || forwarded) return undefined
  const { id, route } = match
  const resource = resources.byName.get(route.resource)
  if (id === undefined || !isPossibleId(id) || !resource || resource.builtIn) return undefined
  try {
    const object = store.get(resource.name, id)
    return object instanceof Promise ? undefined : { resource: resource.name, id, object }
  } catch {
    // Whoever needs it reads it again, and meets the failure.
    return undefined
  }
}
