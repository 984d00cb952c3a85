/** A refresh token for the next tokens of its session. */
import { hashesOf, nextRefreshToken, readRefreshToken } from './refresh-token.ts'
import { IDLE_MS } from './session-length.ts'
import { type SignedIn, type SignInParts, signedIn } from './session-tokens.ts'

export async function refreshSession(parts: SignInParts, token: string): Promise<SignedIn> {
  const { directory, now } = parts
  const presented = readRefreshToken(token)
  if (!presented) return { kind: 'refused', userId: undefined, reason: 'not a refresh token' }
  const refreshToken = nextRefreshToken(presented)
  const refreshed = await directory.refreshSession({
    session: presented.session,
    presented: hashesOf(presented),
    next: hashesOf(refreshToken).current,
    idleEndsAt: now() + IDLE_MS,
  })
  if (refreshed.kind === 'unknown') return { kind: 'refused', userId: undefined, reason: 'the session has ended' }
  if (refreshed.kind === 'reused') {
    return { kind: 'refused', userId: refreshed.userId, reason: 'the refresh token was used before; its session ended' }
  }
  const { id: session, userId, endsAt } = refreshed.session
  const person = await directory.person(userId)
  if (!person || person.account?.disabled) return { kind: 'refused', userId, reason: 'the user is disabled or gone' }
  return signedIn(parts, person, { session, endsAt, refreshToken })
}
