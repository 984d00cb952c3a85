/** Signing in to the embedded directory, and out of it. Every outcome is a value. */
import type { SignedIn, SignInParts } from './session-tokens.ts'
import type { PasswordSignIn } from './sign-in-by-password.ts'

export interface SignIn {
  withPassword(request: PasswordSignIn): Promise<SignedIn>
  withRefreshToken(token: string): Promise<SignedIn>
  /** False when it had ended. */
  end(session: string): Promise<boolean>
}

/** What signs in is loaded with the first who does. */
export function createSignIn(parts: SignInParts): SignIn {
  return {
    withPassword: async (request) => (await import('./sign-in-by-password.ts')).signInWithPassword(parts, request),
    withRefreshToken: async (token) => (await import('./sign-in-by-refresh.ts')).refreshSession(parts, token),
    end: (session) => parts.directory.endSession(session),
  }
}
