/**
 * From the claims of an OpenID provider's token that was verified to a caller: only access tokens, only for whoever
 * bears them.
 */
import type { Authentication } from './caller.ts'
import { claimAt } from './claim-path.ts'
import type { ClaimNames } from './openid-settings.ts'
import { type Reading, readClaims } from './read-claims.ts'

type Claims = Readonly<Record<string, unknown>>

/** The caller has no roles but those that roles.yaml makes of `provided`. `typ` is the header's. */
export function readProviderClaims(claims: Claims, typ: unknown, names: ClaimNames, reading: Reading): Authentication {
  const fault = faultOf(claims, typ) ?? faultOfAddress(claims, names)
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

/**
 * What was signed by the same keys for something else. The audience alone doesn't tell, where somebody set it to a
 * client's id.
 */
function faultOf(claims: Claims, typ: unknown): string | undefined {
  const has = (name: string) => Object.hasOwn(claims, name)
  // RFC 7800: good only with a proof that nobody asks for here (DPoP, mutual TLS).
  if (has('cnf')) return 'bound to a key of its sender'
  // RFC 8417: security events, such as logout tokens.
  if (has('events')) return 'a security event, not an access token'
  // OpenID Connect Core 1.0 section 3.1.3.6.
  if (has('at_hash') || has('c_hash') || (has('nonce') && !isAccessToken(claims, typ))) {
    return 'an ID token, not an access token'
  }
  // Keycloak says it in a claim: Bearer, ID, Refresh, Logout.
  return typeof claims.typ === 'string' && claims.typ.toLowerCase() !== 'bearer'
    ? 'no access token by its typ'
    : undefined
}

/** OpenID Connect Core 1.0 section 5.1. Some write the truth value as text. */
function faultOfAddress({ email_verified: verified }: Claims, { subject }: ClaimNames): string | undefined {
  if (subject.join() !== 'email' || verified === undefined || verified === true || verified === 'true') return undefined
  return 'an e-mail address that the provider has not verified'
}

function isAccessToken({ typ: kind }: Claims, typ: unknown): boolean {
  const said = typeof typ === 'string' && /^(application\/)?at\+jwt$/i.test(typ)
  return said || (typeof kind === 'string' && kind.toLowerCase() === 'bearer')
}

/** For logs, so it never repeats anything of the token. */
function invalid(reason: string): Authentication {
  return { kind: 'rejected', code: 'token-invalid', reason }
}
