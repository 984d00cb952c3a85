/** Several issuers' tokens, told apart by `iss`: each is verified by its own keys and rules alone. */
import type { TokenVerifier } from '../caller.ts'
import { readCompactToken } from './compact-token.ts'
import type { RememberingVerifier } from './remembered-tokens.ts'

/** By issuer. What a token says of its issuer is anybody's until its verifier, which checks `iss` itself, has verified it. */
export function verifyByIssuer(verifiers: ReadonlyMap<unknown, RememberingVerifier>): TokenVerifier {
  const all = [...verifiers.values()]
  return {
    knows: (token) => all.some((verifier) => verifier.recall(token)),
    verify(token) {
      for (const verifier of all) {
        const known = verifier.recall(token)
        if (known) return known
      }
      const compact = readCompactToken(token)
      if (compact.kind === 'faulty') return { kind: 'rejected', code: 'token-invalid', reason: compact.reason }
      const verifier = verifiers.get(compact.payload.iss)
      return verifier?.verify(token) ?? { kind: 'rejected', code: 'token-invalid', reason: 'not an issuer known here' }
    },
  }
}
