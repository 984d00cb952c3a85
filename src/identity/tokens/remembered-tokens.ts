/**
 * Remembers verified tokens, so that a signature is checked only once. Facts that can change while the token stays the
 * same (the time, the keys) are checked each time; account-status.ts checks what the store knows about the caller.
 */
import { LRUCache } from 'lru-cache'
import type { Authentication, KeyedVerifier, TokenVerifier } from '../caller.ts'
import { MAX_TOKEN_LENGTH, readCompactToken } from './compact-token.ts'

type Remembered = Extract<Authentication, { kind: 'caller' }>

/** More than may follow events at a time (server/events/event-hub.ts), whose tokens are looked at each second. */
const MOST_TOKENS = 25_000
/** Limits the memory that long tokens take. */
const MOST_CHARACTERS = 20_000_000

export interface RememberingVerifier extends TokenVerifier {
  /** Undefined if the token must be verified. */
  recall(token: string): Remembered | undefined
}

/** Answers like the verifier, but at once for a remembered token. */
export function rememberTokens(verifier: KeyedVerifier): RememberingVerifier {
  const tokens = new LRUCache<string, Remembered>({
    max: MOST_TOKENS,
    maxSize: MOST_CHARACTERS,
    sizeCalculation: (_found, token) => token.length,
  })
  let generation: number | undefined
  const recall = (token: string) => {
    const current = verifier.keyGeneration()
    if (current !== generation) tokens.clear()
    generation = current
    // A longer token is refused without any further work.
    const found = token.length <= MAX_TOKEN_LENGTH ? tokens.get(token) : undefined
    // Whole seconds, as RFC 7519 (4.1.4, 4.1.5) and jose compare them.
    const seconds = Math.floor(Date.now() / 1000)
    return found?.valid && found.valid.from <= seconds && seconds < found.valid.until ? found : undefined
  }
  const verify = async (token: string) => {
    const before = verifier.keyGeneration()
    const found = await verifier.verify(token)
    // If a key was removed during the verification, the result must not be remembered.
    const sameKeys = before !== undefined && before === generation && before === verifier.keyGeneration()
    if (found.kind === 'caller' && found.valid && sameKeys) tokens.set(token, found)
    return found
  }
  return {
    recall,
    knows: (token) => recall(token) !== undefined,
    verify: (token) => recall(token) ?? verify(token),
  }
}

/** `verifiers`: by issuer. Anybody can write an `iss`, so the issuer's own verifier checks it again. */
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
      return verifier?.verify(token) ?? { kind: 'rejected', code: 'token-invalid', reason: 'unknown issuer' }
    },
  }
}
