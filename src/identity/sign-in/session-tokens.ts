/** The result of signing in: the tokens of a session, or the reason for a refusal; and the form of refresh tokens. */

import { createHash, randomBytes } from 'node:crypto'
import type { Directory, Person, RefreshHashes } from '../../store/directory.ts'
import { isClaimableRole } from '../caller.ts'
import type { Guessing } from './guessing.ts'
import type { Passwords } from './password.ts'

const ACCESS_TOKEN_SECONDS = 600
/** The limit for all roles together, so that no users record makes a token too long to read. */
const MOST_ROLE_BYTES = 4096

export interface Tokens {
  readonly accessToken: string
  readonly refreshToken: string
  /** The lifetime of the access token. */
  readonly expiresInSeconds: number
}

/**
 * `userId`: the user of the request, if there is one; for the log. `reason`: for the log, never for the client.
 * `record`: the decision record that was committed with the change, if there was a change.
 */
export type SignInResult =
  | { readonly kind: 'signed-in'; readonly userId: string; readonly tokens: Tokens; readonly record: string }
  | RefusedSignIn
  | { readonly kind: 'delayed'; readonly userId: string | undefined; readonly retryAfterMs: number }
  | { readonly kind: 'unfit-password'; readonly fault: string }
  | { readonly kind: 'busy' }

interface RefusedSignIn {
  readonly kind: 'refused'
  readonly userId: string | undefined
  readonly reason: string
  readonly record?: string
}

/** The change of the store when a user signs in: a session begins or continues, or a refusal ends it. */
export type SessionChange = { readonly kind: 'signed-in'; readonly userId: string } | Omit<RefusedSignIn, 'record'>

/** Makes the decision record of a change. */
export type RecordOf = (change: SessionChange) => string

/** The contents and lifetime of an access token to issue. */
interface AccessRequest {
  readonly subject: string
  readonly roles: readonly string[]
  readonly session: string
  /** Milliseconds since the epoch. */
  readonly authTime: number
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

/** The data of a session that its tokens are made from. */
export interface OpenedSession {
  readonly session: string
  /** The time at which the password was checked; refreshing keeps it. */
  readonly createdAt: number
  readonly endsAt: number
  readonly refreshToken: RefreshToken
}

export async function tokensOf({ issue, now }: SignInParts, person: Person, opened: OpenedSession): Promise<Tokens> {
  const left = Math.floor((opened.endsAt - now()) / 1000)
  const lifetimeSeconds = Math.max(1, Math.min(ACCESS_TOKEN_SECONDS, left))
  const { session, createdAt: authTime } = opened
  const accessToken = await issue({ subject: person.id, roles: claimed(person), session, authTime, lifetimeSeconds })
  return { accessToken, refreshToken: opened.refreshToken.text, expiresInSeconds: lifetimeSeconds }
}

/** These roles are for other readers of the token. This server reads the users record with each request instead. */
function claimed({ roles }: Person): readonly string[] {
  const claimable = roles.filter(isClaimableRole)
  return Buffer.byteLength(JSON.stringify(claimable)) <= MOST_ROLE_BYTES ? claimable : []
}

/** One day, in milliseconds. */
const DAY_MS = 24 * 60 * 60_000

/** The longest life of a session, with any number of refreshes. */
export const SESSION_MS = 30 * DAY_MS
/** The longest time without a refresh. */
export const IDLE_MS = 14 * DAY_MS

// Refresh tokens: `spr.<session>.<family>.<current>`. The family's secret lasts as long as the session, so that an
// older token of the session is recognized; the current secret changes with each use. The store holds only hashes.

const FAMILY_BYTES = 16
/** 256 random bits need no slow hash: nobody guesses them. */
const CURRENT_BYTES = 32

export interface RefreshToken {
  readonly session: string
  readonly family: string
  readonly current: string
  readonly text: string
}

export function newRefreshToken(session: string): RefreshToken {
  return withText({ session, family: random(FAMILY_BYTES), current: random(CURRENT_BYTES) })
}

export function nextRefreshToken({ session, family }: RefreshToken): RefreshToken {
  return withText({ session, family, current: random(CURRENT_BYTES) })
}

/** Undefined if the text doesn't have the form of a refresh token. */
export function readRefreshToken(text: string): RefreshToken | undefined {
  const parts = /^spr\.(?<session>[0-9a-f-]{36})\.(?<family>[\w-]{22})\.(?<current>[\w-]{43})$/.exec(text)?.groups
  const { session, family, current } = parts ?? {}
  if (session === undefined || family === undefined || current === undefined) return undefined
  return { session, family, current, text }
}

export function hashesOf({ family, current }: RefreshToken): RefreshHashes {
  return { family: sha256(family), current: sha256(current) }
}

function withText(parts: Omit<RefreshToken, 'text'>): RefreshToken {
  return { ...parts, text: `spr.${parts.session}.${parts.family}.${parts.current}` }
}

function random(bytes: number): string {
  return randomBytes(bytes).toString('base64url')
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
