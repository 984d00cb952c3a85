/**
 * Signing in to the embedded directory: e-mail address and password, or a refresh token, for an access token and the next
 * refresh token. Every outcome is a value; docs/decisions/0022 says why it is as it is.
 */
import { randomUUID } from 'node:crypto'
import type { Directory, Person, VerifiedPassword } from '../store/directory.ts'
import type { Admission, Guessing } from './guessing.ts'
import { isSamePassword, type Passwords, passwordFault } from './password.ts'
import { hashesOf, newRefreshToken, nextRefreshToken, type RefreshToken, readRefreshToken } from './refresh-token.ts'
import { Overcrowded } from './turns.ts'

const ACCESS_TOKEN_SECONDS = 600

const DAY_MS = 24 * 60 * 60_000
/** However often it is refreshed. */
const SESSION_MS = 30 * DAY_MS
/** Without being refreshed. */
const IDLE_MS = 14 * DAY_MS

export interface PasswordSignIn {
  readonly email: string
  readonly password: string
  /** Takes the place of the password, and ends the user's other sessions. */
  readonly newPassword?: string | undefined
  /** Where the request comes from, as limits count addresses. */
  readonly address: string
}

export interface Tokens {
  readonly accessToken: string
  readonly refreshToken: string
  /** Of the access token. */
  readonly expiresInSeconds: number
}

/** `userId`: the user that the request was about, where there is one; for the log. `reason`: likewise; never for the client. */
export type SignedIn =
  | { readonly kind: 'signed-in'; readonly userId: string; readonly tokens: Tokens }
  | { readonly kind: 'refused'; readonly userId: string | undefined; readonly reason: string }
  | { readonly kind: 'delayed'; readonly userId: string | undefined; readonly retryAfterMs: number }
  | { readonly kind: 'unfit-password'; readonly fault: string }
  | { readonly kind: 'busy' }

export interface SignIn {
  withPassword(request: PasswordSignIn): Promise<SignedIn>
  withRefreshToken(token: string): Promise<SignedIn>
  /** False when it had ended. */
  end(session: string): Promise<boolean>
}

/** Who an access token is for, and how long it may last. */
interface AccessRequest {
  readonly subject: string
  readonly roles: readonly string[]
  readonly session: string
  readonly lifetimeSeconds: number
}

export interface SignInParts {
  readonly directory: Directory
  readonly passwords: Passwords
  readonly guessing: Guessing
  readonly issue: (request: AccessRequest) => Promise<string>
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

export function createSignIn(parts: SignInParts): SignIn {
  return {
    withPassword: (request) => signInWithPassword(parts, request),
    withRefreshToken: (token) => refresh(parts, token),
    end: (session) => parts.directory.endSession(session),
  }
}

async function signInWithPassword(parts: SignInParts, request: PasswordSignIn): Promise<SignedIn> {
  const fault = newPasswordFault(request)
  if (fault !== undefined) return { kind: 'unfit-password', fault }
  const admission = await parts.guessing.begin(request)
  if (admission.kind === 'delayed') {
    const person = await parts.directory.personByEmail(request.email)
    return { ...admission, userId: person?.id }
  }
  try {
    return await admitted(parts, request, admission)
  } catch (error) {
    await admission.attempt.withdrawn()
    if (error instanceof Overcrowded) return { kind: 'busy' }
    throw error
  }
}

function newPasswordFault({ password, newPassword }: PasswordSignIn): string | undefined {
  if (newPassword === undefined) return undefined
  // Else a one-time password could be kept.
  return isSamePassword(password, newPassword) ? 'must be another one' : passwordFault(newPassword)
}

async function admitted(
  parts: SignInParts,
  { email, password, newPassword }: PasswordSignIn,
  { attempt }: Extract<Admission, { kind: 'admitted' }>,
): Promise<SignedIn> {
  const { directory, passwords } = parts
  const person = await directory.personByEmail(email)
  const kept = person?.account?.disabled ? undefined : (person?.account?.passwordHash ?? undefined)
  // Also without a hash to compare with, so that the time doesn't tell who is a user.
  const isRight = await passwords.verify(password, kept)
  if (!person || kept === undefined || !isRight) return { kind: 'refused', userId: person?.id, reason: whyNot(person) }
  const next = newPassword === undefined ? undefined : await passwords.hash(newPassword)
  const hash = next === undefined ? await improve(parts, person, { password, kept }) : kept
  const opened = await open(parts, person, { hash, next })
  if (!opened) return { kind: 'refused', userId: person.id, reason: 'the user or the password changed meanwhile' }
  await attempt.succeeded()
  return signedIn(parts, person, opened)
}

function whyNot(person: Person | undefined): string {
  if (!person) return 'no user has this e-mail address'
  if (person.account?.disabled) return 'the user is disabled'
  return person.account?.passwordHash ? 'the password is wrong' : 'the user has no password'
}

/** A password that was kept at another cost is kept at today's from now on. What is the hash that stands for it now. */
async function improve(
  { directory, passwords }: SignInParts,
  { id, account }: Person,
  { password, kept }: { readonly password: string; readonly kept: string },
): Promise<string> {
  if (account?.oneTime || !passwords.isOutdated(kept)) return kept
  const better = await passwords.hash(password)
  if (await directory.rehash(id, kept, better)) return better
  // Another sign-in may have done it; whatever is there now is compared with, or it wouldn't be right.
  const current = (await directory.person(id))?.account?.passwordHash ?? undefined
  return (await passwords.verify(password, current)) ? (current ?? kept) : kept
}

interface Opened {
  readonly session: string
  readonly endsAt: number
  readonly refreshToken: RefreshToken
}

/** Undefined when the password isn't the user's any more, or the user is disabled or gone. */
async function open(
  { directory, now }: SignInParts,
  { id }: Person,
  verified: VerifiedPassword,
): Promise<Opened | undefined> {
  const createdAt = now()
  const session = randomUUID()
  const refreshToken = newRefreshToken(session)
  const endsAt = createdAt + SESSION_MS
  const times = { createdAt, endsAt, idleEndsAt: createdAt + IDLE_MS }
  const isOpen = await directory.openSession(
    { id: session, userId: id, ...times, refresh: hashesOf(refreshToken) },
    verified,
  )
  return isOpen ? { session, endsAt, refreshToken } : undefined
}

async function refresh(parts: SignInParts, token: string): Promise<SignedIn> {
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

async function signedIn({ issue, now }: SignInParts, person: Person, opened: Opened): Promise<SignedIn> {
  const left = Math.floor((opened.endsAt - now()) / 1000)
  const lifetimeSeconds = Math.max(1, Math.min(ACCESS_TOKEN_SECONDS, left))
  const { id, roles } = person
  const accessToken = await issue({ subject: id, roles, session: opened.session, lifetimeSeconds })
  const tokens = { accessToken, refreshToken: opened.refreshToken.text, expiresInSeconds: lifetimeSeconds }
  return { kind: 'signed-in', userId: id, tokens }
}
