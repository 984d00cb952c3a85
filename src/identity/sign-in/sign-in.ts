/** Signs users in to the embedded directory, and out of it. Every outcome is a value. */

import { hashesOf, nextRefreshToken, readRefreshToken } from './refresh-token.ts'
import { IDLE_MS, type RecordOf, type SignedIn, type SignInParts, tokensOf } from './session-tokens.ts'
import { type PasswordSignIn, signInWithPassword } from './sign-in-by-password.ts'

/** The decision record of a change is committed with the change. */
export interface SignIn {
  withPassword(request: PasswordSignIn, recordOf: RecordOf): Promise<SignedIn>
  withRefreshToken(token: string, recordOf: RecordOf): Promise<SignedIn>
  /** False if the session had already ended. */
  end(session: string, record: string): Promise<boolean>
}

export function createSignIn(parts: SignInParts): SignIn {
  return {
    withPassword: (request, recordOf) => signInWithPassword(parts, request, recordOf),
    withRefreshToken: (token, recordOf) => refreshSession(parts, token, recordOf),
    end: (session, record) => parts.directory.endSession(session, record),
  }
}

/** Exchanges a refresh token for the next tokens of its session. */
const ENDED: SignedIn = { kind: 'refused', userId: undefined, reason: 'the session has ended' }

async function refreshSession(parts: SignInParts, token: string, recordOf: RecordOf): Promise<SignedIn> {
  const { directory, now } = parts
  const presented = readRefreshToken(token)
  if (!presented) return { kind: 'refused', userId: undefined, reason: 'not a refresh token' }
  const userId = await directory.userOfSession(presented.session)
  if (userId === undefined) return ENDED
  const refreshToken = nextRefreshToken(presented)
  const refresh = {
    session: presented.session,
    presented: hashesOf(presented),
    next: hashesOf(refreshToken).current,
    idleEndsAt: now() + IDLE_MS,
  }
  const reused = { kind: 'refused', userId, reason: 'the refresh token was used before; its session ended' } as const
  const records = { refreshed: recordOf({ kind: 'signed-in', userId }), reused: recordOf(reused) }
  const refreshed = await directory.refreshSession(refresh, records)
  if (refreshed.kind === 'unknown') return ENDED
  if (refreshed.kind === 'reused') return { ...reused, record: records.reused }
  const { id: session, createdAt, endsAt } = refreshed.session
  const tokens = await tokensOf(parts, refreshed.person, { session, createdAt, endsAt, refreshToken })
  return { kind: 'signed-in', userId, tokens, record: records.refreshed }
}
