/** Verifies bearer tokens: signed by a trusted key, meant for this server, valid now. Every outcome is a value. */
import type { JWTVerifyOptions } from 'jose'
import { JOSEError, JWTClaimValidationFailed, JWTExpired } from 'jose/errors'
import { jwtVerify } from 'jose/jwt/verify'
import type { Authentication, KeyedVerifier } from '../caller.ts'
import { KeyError } from '../keys/key-error.ts'
import { KeyServerFault } from '../keys/key-server.ts'
import { chooseAlgorithms, type KeySource, openVerificationKeys } from '../keys/verification-keys.ts'
import { readCompactToken } from './compact-token.ts'
import type { ClaimNames } from './openid-settings.ts'
import { type Claims, readClaims, readProviderClaims } from './read-claims.ts'

interface VerifierOptions {
  readonly keys: KeySource
  /** Compared exactly with `iss`. */
  readonly issuer: string
  /** `aud` is this value, or a list that contains it. */
  readonly audience: string
  /** Undefined for all safe algorithms of the keys. */
  readonly algorithms?: readonly string[] | undefined
  /** The settings of an OpenID provider. */
  readonly claims?: ClaimNames | undefined
}

/** RFC 9068 section 4 and RFC 7519 section 5.1; an id token or a logout token is not an access token. */
const TYPES = ['jwt', 'at+jwt', 'application/jwt', 'application/at+jwt']

/** Throws KeyError for weak or faulty keys, for algorithms that don't fit them, and without issuer or audience. */
export function createTokenVerifier({ keys, issuer, audience, algorithms, claims }: VerifierOptions): KeyedVerifier {
  if (issuer === '') throw new KeyError('JWT_ISSUER is empty; set it to the issuer of the tokens to accept')
  if (audience === '') throw new KeyError('JWT_AUDIENCE is empty; set it to the audience of the tokens to accept')
  const opened = openVerificationKeys(keys)
  const options: JWTVerifyOptions = {
    issuer,
    audience,
    algorithms: [...chooseAlgorithms(opened, claims ? 'OIDC_ALGORITHMS' : 'JWT_ALGORITHMS', algorithms)],
    clockTolerance: opened.clockToleranceSeconds,
    requiredClaims: claims ? ['exp'] : ['exp', 'sub'],
  }
  const reading = { sessions: keys.kind === 'embedded', toleranceSeconds: opened.clockToleranceSeconds }
  return {
    keyGeneration: opened.generation,
    async verify(token) {
      const compact = readCompactToken(token)
      if (compact.kind === 'faulty') return rejected(compact.reason)
      const fault = faultOfHeader(compact.header)
      if (fault !== undefined) return rejected(fault)
      try {
        const { payload } = await jwtVerify(token, opened.find, options)
        const otherKind = faultOfKind(payload, compact.header.typ)
        if (otherKind !== undefined) return rejected(otherKind)
        return claims ? readProviderClaims(payload, claims, reading) : readClaims(payload, reading)
      } catch (error) {
        return outcomeOf(error)
      }
    },
  }
}

/**
 * Checks the parts that jose leaves open. The other members of a header about keys (`jwk`, `jku`, `x5u`, `x5c`) are
 * never read.
 */
function faultOfHeader({ typ, crit }: Readonly<Record<string, unknown>>): string | undefined {
  // No extension is known here (RFC 7515 section 4.1.11), not even b64, which jose accepts.
  if (crit !== undefined) return 'crit'
  if (typ === undefined || (typeof typ === 'string' && TYPES.includes(typ.toLowerCase()))) return undefined
  return 'wrong typ'
}

/** An error of jose is the token's fault. Any other error isn't, and must not look like it (http.md, 500/502/503). */
function outcomeOf(error: unknown): Authentication {
  if (error instanceof KeyServerFault) return { kind: 'failed', code: error.code, cause: error.cause }
  if (error instanceof JWTExpired) return { kind: 'rejected', code: 'token-expired', reason: 'expired' }
  if (error instanceof JWTClaimValidationFailed) return rejected(`claim ${error.claim} ${error.reason}`)
  if (error instanceof JOSEError) return rejected(error.code)
  throw error
}

/** `reason` is for logs, so it never repeats a part of the token. */
function rejected(reason: string): Authentication {
  return { kind: 'rejected', code: 'token-invalid', reason }
}

// Access tokens are distinguished from the other tokens that the same keys sign (ID tokens, refresh tokens, logout
// tokens): the audience isn't enough if it is set to a client's id. read-claims.ts finds the caller of the token.

/**
 * Claims that only ID tokens have: OpenID Connect Core 1.0 sections 3.1.3.6, 3.3.2.11 and 7.4, Financial-grade API 1.0
 * part 2 section 5.1.1, and CIBA Core 1.0 section 10.3.1.
 */
const OF_ID_TOKENS = [
  'at_hash',
  'c_hash',
  's_hash',
  'sub_jwk',
  'urn:openid:params:jwt:claim:rt_hash',
  'urn:openid:params:jwt:claim:auth_req_id',
]

/**
 * The reason why a token isn't an access token that any bearer may use; undefined if no claim contradicts. `typ` is the
 * header's.
 */
function faultOfKind(claims: Claims, typ: unknown): string | undefined {
  const has = (name: string) => Object.hasOwn(claims, name)
  // RFC 7800: valid only with a proof that this server never asks for (DPoP, mutual TLS).
  if (has('cnf')) return 'bound to a key of its sender'
  // RFC 8417: security events, such as logout tokens.
  if (has('events')) return 'a security event, not an access token'
  // Keycloak writes the kind in a claim: Bearer, ID, Refresh, Logout.
  if (has('typ') && !says(claims.typ, 'bearer')) return 'not an access token: typ'
  // Cognito writes it in another claim: access, id.
  if (has('token_use') && !says(claims.token_use, 'access')) return 'not an access token: token_use'
  if (OF_ID_TOKENS.some(has)) return 'an ID token, not an access token'
  const saysAccess =
    has('typ') || has('token_use') || (typeof typ === 'string' && /^(application\/)?at\+jwt$/i.test(typ))
  return has('nonce') && !saysAccess ? 'an ID token, not an access token' : undefined
}

function says(claim: unknown, kind: string): boolean {
  return typeof claim === 'string' && claim.toLowerCase() === kind
}
