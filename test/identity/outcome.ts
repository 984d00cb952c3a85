/** An authentication in one word: the caller's id, or the code of a refusal or fault. */
import type { Authentication, TokenVerifier } from '../../src/identity/caller.ts'

export function wordOf(authentication: Authentication): string {
  switch (authentication.kind) {
    case 'anonymous':
      return 'anonymous'
    case 'caller':
      return `caller ${authentication.caller.id}`
    case 'rejected':
    case 'failed':
      return authentication.code
  }
}

export async function ask(verifier: TokenVerifier, token: string): Promise<string> {
  return wordOf(await verifier.verify(token))
}
