/** Signing in to the embedded directory, and out of it. Every outcome is a value. */
import type { CommitWith } from '../../store/contract.ts'
import type { SessionChange, SignedIn, SignInParts } from './session-tokens.ts'
import { type PasswordSignIn, signInWithPassword } from './sign-in-by-password.ts'
import { refreshSession } from './sign-in-by-refresh.ts'

/** `alongside` is called in the transaction that changes the store. Where nothing changes, it isn't called. */
export interface SignIn {
  withPassword(request: PasswordSignIn, alongside: CommitWith<SessionChange>): Promise<SignedIn>
  withRefreshToken(token: string, alongside: CommitWith<SessionChange>): Promise<SignedIn>
  /** False when it had ended. */
  end(session: string, alongside: CommitWith<undefined>): Promise<boolean>
}

export function createSignIn(parts: SignInParts): SignIn {
  return {
    withPassword: (request, alongside) => signInWithPassword(parts, request, alongside),
    withRefreshToken: (token, alongside) => refreshSession(parts, token, alongside),
    end: (session, alongside) => parts.directory.endSession(session, alongside),
  }
}
