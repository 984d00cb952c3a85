/** From the claims of an OpenID provider's token that was verified to a caller. */
import type { Authentication } from '../caller.ts'
import { claimAt } from './claim-path.ts'
import type { ClaimNames } from './openid-settings.ts'
import { type Reading, readClaims } from './read-claims.ts'

type Claims = Readonly<Record<string, unknown>>

/** The caller has no roles but those that roles.yaml makes of `provided`. */
export function readProviderClaims(claims: Claims, names: ClaimNames, reading: Reading): Authentication {
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

/** OpenID Connect Core 1.0 section 5.1. Some write the truth value as text. */
function faultOfAddress({ email_verified: verified }: Claims, { subject }: ClaimNames): string | undefined {
  if (subject.join() !== 'email' || verified === undefined || verified === true || verified === 'true') return undefined
  return 'an e-mail address that the provider has not verified'
}

/** For logs, so it never repeats anything of the token. */
function invalid(reason: string): Authentication {
  return { kind: 'rejected', code: 'token-invalid', reason }
}
