/** Turns the claims of a verified token into a caller. */
import type { Caller } from '../../decide/caller.ts'
import type { Authentication } from '../caller.ts'
import { isClaimableRole, isSubject } from '../caller.ts'
import type { ClaimNames } from './openid-settings.ts'
import { claimAt } from './openid-settings.ts'

/** Claims that say who vouches for what, and the claims that identify the caller; all others are attributes. */
export const NAMED_CLAIMS: ReadonlySet<string> = new Set([
  'iss',
  'sub',
  'aud',
  'exp',
  'nbf',
  'iat',
  'jti',
  'roles',
  'sid',
])

/**
 * The end of the year 9999, in seconds since 1970. A time given in milliseconds by mistake is later than that: the
 * token would be valid for 50,000 years.
 */
const LAST_MOMENT = 253_402_300_799

/** Characters; sign-in makes UUIDs. */
const MAX_SESSION_LENGTH = 128

export interface ClaimsOptions {
  /** Whether `sid` names a session of this server: other issuers have sessions of their own. */
  readonly sessions: boolean
  /** The greatest accepted difference between the clocks. */
  readonly toleranceSeconds: number
}

/** Returns a caller, or `rejected` if a claim doesn't have the form that callers need. */
export function readClaims(claims: Readonly<Record<string, unknown>>, reading: ClaimsOptions): Authentication {
  const { sub, exp, nbf, roles = [] } = claims
  const session = reading.sessions ? claims.sid : undefined
  if (!isMoment(exp)) return invalid('unusable exp')
  if (!isSubject(sub)) return invalid('unusable sub')
  if (!isStringList(roles)) return invalid('roles is not a list of strings')
  if (session !== undefined && !isSession(session)) return invalid('unusable sid')
  const caller = {
    id: sub,
    roles: Object.freeze(roles.filter(isClaimableRole)),
    claims: attributesOf(claims),
    ...(session === undefined ? {} : { session }),
    ...signInOf(claims),
  }
  const from = typeof nbf === 'number' ? nbf - reading.toleranceSeconds : Number.NEGATIVE_INFINITY
  const valid = { from, until: exp + reading.toleranceSeconds }
  return Object.freeze({ kind: 'caller', caller: Object.freeze(caller), valid })
}

/**
 * When and how the caller signed in (OpenID Connect Core 1.0 section 2, RFC 9068 section 2.2.1). A claim of another form
 * counts as missing. `auth_time` is in seconds since 1970.
 */
function signInOf({ auth_time: seconds, acr }: Claims): Pick<Caller, 'authTime' | 'acr'> {
  return {
    ...(isMoment(seconds) && seconds >= 0 ? { authTime: seconds * 1000 } : {}),
    ...(typeof acr === 'string' && acr !== '' ? { acr } : {}),
  }
}

/** Excludes Infinity, which JSON can express as 1e999: such a token would never end. */
function isMoment(value: unknown): value is number {
  return typeof value === 'number' && value <= LAST_MOMENT
}

function isSession(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_SESSION_LENGTH && value.isWellFormed()
}

function isStringList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

/** The object has no prototype, so that a policy that names the attribute `constructor` finds nothing. */
function attributesOf(claims: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const attributes = Object.create(null)
  for (const [name, value] of Object.entries(claims)) {
    if (!NAMED_CLAIMS.has(name)) attributes[name] = value
  }
  return Object.freeze(attributes)
}

export type Claims = Readonly<Record<string, unknown>>

/** The caller has only the roles that roles.yaml maps `provided` to. */
export function readProviderClaims(claims: Claims, names: ClaimNames, reading: ClaimsOptions): Authentication {
  const fault = faultOfAddress(claims, names)
  if (fault !== undefined) return invalid(fault)
  const provided = valuesOf(claimAt(claims, names.roles))
  if (!provided) return invalid('the roles claim is not a string or a list of strings')
  const subject = claimAt(claims, names.subject)
  const sub = typeof subject === 'string' && subject !== '' ? names.subjectPrefix + subject : undefined
  const found = readClaims({ ...claims, sub, roles: [] }, reading)
  if (found.kind !== 'caller') return found
  const caller = { ...found.caller, provided: Object.freeze(provided), credential: `issuer ${claims.iss}` }
  return Object.freeze({ ...found, caller: Object.freeze(caller) })
}

function valuesOf(claim: unknown): readonly string[] | undefined {
  if (claim === undefined || claim === null) return []
  if (typeof claim === 'string') return [claim]
  return Array.isArray(claim) && claim.every((one) => typeof one === 'string') ? claim : undefined
}

/** OpenID Connect Core 1.0 section 5.1. Some providers write the boolean as text. */
function faultOfAddress({ email_verified: verified }: Claims, { subject }: ClaimNames): string | undefined {
  if (subject.join() !== 'email' || verified === undefined || verified === true || verified === 'true') return undefined
  return 'an e-mail address that the provider has not verified'
}

/** Logs show the reason, so it never repeats a part of the token. */
function invalid(reason: string): Authentication {
  return { kind: 'rejected', code: 'token-invalid', reason }
}
