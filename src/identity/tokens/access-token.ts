/**
 * Distinguishes access tokens from the other tokens that the same keys sign (ID tokens, refresh tokens, logout tokens):
 * the audience isn't enough if it is set to a client's id. read-claims.ts finds the caller of the token.
 */

type Claims = Readonly<Record<string, unknown>>

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
export function faultOfKind(claims: Claims, typ: unknown): string | undefined {
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
