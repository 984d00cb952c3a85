/** A refresh token for the next tokens of its session. */
import type { CommitWith } from '../../store/contract.ts'
import type { RefreshChange } from '../../store/directory.ts'
import { hashesOf, nextRefreshToken, readRefreshToken } from './refresh-token.ts'
import { IDLE_MS } from './session-length.ts'
import { type SessionChange, type SignedIn, type SignInParts, signedIn } from './session-tokens.ts'

export async function refreshSession(
  parts: SignInParts,
  token: string,
  alongside: CommitWith<SessionChange>,
): Promise<SignedIn> {
  const { directory, now } = parts
  const presented = readRefreshToken(token)
  if (!presented) return { kind: 'refused', userId: undefined, reason: 'not a refresh token' }
  const refreshToken = nextRefreshToken(presented)
  const refresh = {
    session: presented.session,
    presented: hashesOf(presented),
    next: hashesOf(refreshToken).current,
    idleEndsAt: now() + IDLE_MS,
  }
  const refreshed = await directory.refreshSession(refresh, (change) => alongside(told(change)))
  if (refreshed.kind === 'unknown') return { kind: 'refused', userId: undefined, reason: 'the session has ended' }
  if (refreshed.kind === 'reused') return reused(refreshed.userId)
  const { id: session, endsAt } = refreshed.session
  return signedIn(parts, refreshed.person, { session, endsAt, refreshToken })
}

function told(change: RefreshChange): SessionChange {
  return change.kind === 'reused' ? reused(change.userId) : { kind: 'signed-in', userId: change.person.id }
}

function reused(userId: string): Extract<SignedIn, { kind: 'refused' }> {
  return { kind: 'refused', userId, reason: 'the refresh token was used before; its session ended' }
}
