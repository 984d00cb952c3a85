/** Signing in to the embedded directory, and out of it. Every outcome is a value. */
import type { RecordOf, SignedIn, SignInParts } from './session-tokens.ts'
import { type PasswordSignIn, signInWithPassword } from './sign-in-by-password.ts'
import { refreshSession } from './sign-in-by-refresh.ts'

/** The decision record of a change commits with the change. */
export interface SignIn {
  withPassword(request: PasswordSignIn, recordOf: RecordOf): Promise<SignedIn>
  withRefreshToken(token: string, recordOf: RecordOf): Promise<SignedIn>
  /** False when it had ended. */
  end(session: string, record: string): Promise<boolean>
}

export function createSignIn(parts: SignInParts): SignIn {
  return {
    withPassword: (request, recordOf) => signInWithPassword(parts, request, recordOf),
    withRefreshToken: (token, recordOf) => refreshSession(parts, token, recordOf),
    end: (session, record) => parts.directory.endSession(session, record),
  }
}
