/** Signing in to the embedded directory, and out of it. Every outcome is a value. */
import type { SignedIn, SignInParts } from './session-tokens.ts'
import { type PasswordSignIn, signInWithPassword } from './sign-in-by-password.ts'
import { refreshSession } from './sign-in-by-refresh.ts'

export interface SignIn {
  withPassword(request: PasswordSignIn): Promise<SignedIn>
  withRefreshToken(token: string): Promise<SignedIn>
  /** False when it had ended. */
  end(session: string): Promise<boolean>
}

export function createSignIn(parts: SignInParts): SignIn {
  return {
    withPassword: (request) => signInWithPassword(parts, request),
    withRefreshToken: (token) => refreshSession(parts, token),
    end: (session) => parts.directory.endSession(session),
  }
}
