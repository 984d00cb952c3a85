/** Finds out who asks; a later stage answers. */
import type { Authentication, TokenVerifier } from './caller.ts'
import type { Credentials } from './read-credentials.ts'

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
      return verifier.verify(credentials.token)
  }
}
