/** Access tokens signed by the embedded key, with the claims of RFC 9068 that this server reads. */
import { randomUUID } from 'node:crypto'
import { SignJWT } from 'jose/jwt/sign'
import { isClaimableRole, isSubject } from '../caller.ts'
import type { EmbeddedKey } from '../keys/embedded/embedded-key.ts'
import { KeyError } from '../keys/key-error.ts'
import { MAX_TOKEN_LENGTH } from './compact-token.ts'
import { NAMED_CLAIMS } from './read-claims.ts'

interface TokenClaims {
  readonly subject: string
  readonly roles: readonly string[]
  readonly issuer: string
  readonly audience: string
  /** A whole number, at least 1. */
  readonly lifetimeSeconds: number
  /** The session of the token: `sid`. */
  readonly session?: string | undefined
  /** When the caller signed in, in milliseconds since the epoch: `auth_time`. */
  readonly authTime?: number | undefined
  /** Attributes, for callers without a users record. */
  readonly claims?: Readonly<Record<string, unknown>>
}

/** Returns a compact JWS (RFC 7515 section 7.1). Throws KeyError for claims that the verifier would refuse or drop. */
export async function issueToken(key: EmbeddedKey, token: TokenClaims): Promise<string> {
  checkClaims(token)
  const issuedAt = Math.floor(Date.now() / 1000)
  const signed = await new SignJWT({ ...token.claims, ...signInClaims(token), roles: [...token.roles] })
    .setProtectedHeader({ alg: 'EdDSA', typ: 'at+jwt', kid: key.kid })
    .setIssuer(token.issuer)
    .setAudience(token.audience)
    .setSubject(token.subject)
    .setJti(randomUUID())
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + token.lifetimeSeconds)
    .sign(key.privateKey)
  if (signed.length <= MAX_TOKEN_LENGTH) return signed
  throw new KeyError(`the token is longer than ${MAX_TOKEN_LENGTH} characters; give it fewer roles or claims`)
}

function signInClaims({ session, authTime }: TokenClaims): { readonly sid?: string; readonly auth_time?: number } {
  return {
    ...(session === undefined ? {} : { sid: session }),
    ...(authTime === undefined ? {} : { auth_time: Math.floor(authTime / 1000) }),
  }
}

function checkClaims({ subject, roles, lifetimeSeconds, claims = {} }: TokenClaims): void {
  if (!isSubject(subject)) {
    throw new KeyError(
      'the subject is not valid; use 1 to 128 characters, no control or broken characters, and no `user:` at the start',
    )
  }
  const role = roles.find((name) => !isClaimableRole(name))
  if (role !== undefined) {
    throw new KeyError(
      `${JSON.stringify(role)} can't be a role; write a name that is not empty and does not start with \`user:\``,
    )
  }
  if (!Number.isSafeInteger(lifetimeSeconds) || lifetimeSeconds < 1) {
    throw new KeyError(`a token can't last ${lifetimeSeconds} seconds; give a whole number of at least 1`)
  }
  const named = Object.keys(claims).find((name) => NAMED_CLAIMS.has(name))
  if (named !== undefined)
    throw new KeyError(`\`${named}\` can't be an attribute, because tokens use this claim; rename it`)
}
