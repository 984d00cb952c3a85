/** Signs users in to the embedded directory, and out of it. Every outcome is a value. */

import { randomUUID } from 'node:crypto'
import type { NewSession, Person } from '../../store/directory.ts'
import type { SignInAdmission } from './guessing.ts'
import { isSamePassword, Overcrowded, passwordFault } from './password.ts'
import {
  hashesOf,
  IDLE_MS,
  newRefreshToken,
  nextRefreshToken,
  type OpenedSession,
  type RecordOf,
  readRefreshToken,
  SESSION_MS,
  type SignInParts,
  type SignInResult,
  tokensOf,
} from './session-tokens.ts'

/** The decision record of a change is committed with the change. */
export interface SignIn {
  withPassword(request: PasswordSignIn, recordOf: RecordOf): Promise<SignInResult>
  withRefreshToken(token: string, recordOf: RecordOf): Promise<SignInResult>
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
const ENDED: SignInResult = { kind: 'refused', userId: undefined, reason: 'the session has ended' }

async function refreshSession(parts: SignInParts, token: string, recordOf: RecordOf): Promise<SignInResult> {
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

// Sign-in by e-mail address and password, for the tokens of a new session. docs/decisions/0025 gives the reasons.

export interface PasswordSignIn {
  readonly email: string
  readonly password: string
  /** Replaces the password, and ends the user's other sessions. */
  readonly newPassword?: string | undefined
  /** The client address of the request, in the form in which limits count addresses. */
  readonly address: string
}

async function signInWithPassword(
  parts: SignInParts,
  request: PasswordSignIn,
  recordOf: RecordOf,
): Promise<SignInResult> {
  const fault = newPasswordFault(request)
  if (fault !== undefined) return { kind: 'unfit-password', fault }
  const admission = await parts.guessing.begin(request)
  if (admission.kind === 'delayed') {
    const person = await parts.directory.personByEmail(request.email)
    return { ...admission, userId: person?.id }
  }
  try {
    return await admitted(parts, request, { ...admission, recordOf })
  } catch (error) {
    await admission.attempt.withdrawn()
    if (error instanceof Overcrowded) return { kind: 'busy' }
    throw error
  }
}

function newPasswordFault({ password, newPassword }: PasswordSignIn): string | undefined {
  if (newPassword === undefined) return undefined
  // A one-time password must not be kept as the new one.
  return isSamePassword(password, newPassword) ? 'must differ from the current password' : passwordFault(newPassword)
}

type Admitted = Extract<SignInAdmission, { kind: 'admitted' }> & { readonly recordOf: RecordOf }

async function admitted(
  parts: SignInParts,
  { email, password, newPassword }: PasswordSignIn,
  { attempt, recordOf }: Admitted,
): Promise<SignInResult> {
  const { directory, passwords } = parts
  const person = await directory.personByEmail(email)
  const kept = person?.account?.disabled ? undefined : (person?.account?.passwordHash ?? undefined)
  // Without a hash it takes the same time, so that the time doesn't reveal whether the user exists.
  const isRight = await passwords.verify(password, kept, attempt.known ? 'known' : 'anybody')
  if (!person || kept === undefined || !isRight) return { kind: 'refused', userId: person?.id, reason: whyNot(person) }
  const next = newPassword === undefined ? undefined : await passwords.hash(newPassword, 'known')
  const hash = next === undefined ? await improve(parts, person, { password, kept }) : kept
  const { session, opened } = newSession(person, parts.now())
  // Creates the tokens before any change: a failure after a change would have used up the password.
  const tokens = await tokensOf(parts, person, opened)
  const record = recordOf({ kind: 'signed-in', userId: person.id })
  if (!(await directory.openSession(session, { hash, next }, record))) {
    return { kind: 'refused', userId: person.id, reason: 'the user or the password changed meanwhile' }
  }
  // The session is open and recorded, so a fault here must not refuse it; the failures expire anyway.
  await attempt.succeeded().catch(() => undefined)
  return { kind: 'signed-in', userId: person.id, tokens, record }
}

function whyNot(person: Person | undefined): string {
  if (!person) return 'no user has this e-mail address'
  if (person.account?.disabled) return 'the user is disabled'
  return person.account?.passwordHash ? 'the password is wrong' : 'the user has no password'
}

/** Hashes a password again if its hash has an older cost. Returns the hash that is stored now. */
async function improve(
  { directory, passwords }: SignInParts,
  { id, account }: Person,
  { password, kept }: { readonly password: string; readonly kept: string },
): Promise<string> {
  if (account?.oneTime || !passwords.isOutdated(kept)) return kept
  const better = await passwords.hash(password, 'known')
  if (await directory.rehash(id, kept, better)) return better
  // Another sign-in may have replaced the hash; the password is compared with the present one, because it may be a new
  // password.
  const current = (await directory.person(id))?.account?.passwordHash ?? undefined
  return (await passwords.verify(password, current, 'known')) ? (current ?? kept) : kept
}

function newSession(
  { id }: Person,
  createdAt: number,
): { readonly session: NewSession; readonly opened: OpenedSession } {
  const session = randomUUID()
  const refreshToken = newRefreshToken(session)
  const endsAt = createdAt + SESSION_MS
  const times = { createdAt, endsAt, idleEndsAt: createdAt + IDLE_MS }
  return {
    session: { id: session, userId: id, ...times, refresh: hashesOf(refreshToken) },
    opened: { session, createdAt, endsAt, refreshToken },
  }
}
