/** Finds out who asks; a later stage answers, once the rate limits have counted the request. */

import type { Authentication, TokenVerifier } from '../../identity/caller.ts'
import type { Credentials } from '../../identity/read-credentials.ts'
import { StoreUnavailable } from '../../store/contract.ts'

export function authenticate(
  verifier: TokenVerifier,
  credentials: Credentials,
): Authentication | Promise<Authentication> {
  switch (credentials.kind) {
    case 'none':
      return { kind: 'anonymous' }
    case 'rejected':
      return { kind: 'rejected', code: 'token-invalid', reason: credentials.reason }
    case 'bearer':
      return verify(verifier, credentials.token)
  }
}

function verify(verifier: TokenVerifier, token: string): Authentication | Promise<Authentication> {
  try {
    const found = verifier.verify(token)
    return found instanceof Promise ? found.catch(failed) : found
  } catch (error) {
    return failed(error)
  }
}

function failed(error: unknown): Authentication {
  if (error instanceof StoreUnavailable) return { kind: 'failed', code: 'store-unavailable', cause: error }
  throw error
}
