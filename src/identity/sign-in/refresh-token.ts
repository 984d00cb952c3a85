/**
 * Refresh tokens: `spr.<session>.<family>.<current>`. The family's secret lasts as long as the session, so that an
 * older token of the session is recognized; the current secret changes with each use. The store holds only hashes.
 */
import { createHash, randomBytes } from 'node:crypto'
import type { RefreshHashes } from '../../store/directory.ts'

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
