/** The caller of a request: credentials, the results of authentication, and the form of ids and roles. */
import type { Caller } from '../decide/caller.ts'

/** The result holds from `from` until before `until`: seconds since 1970, compared with the clock's whole seconds. */
interface Validity {
  readonly from: number
  readonly until: number
}

/** Authentication only finds the result; a later stage turns `rejected` and `failed` into a response. */
export type Authentication =
  | { readonly kind: 'anonymous' }
  /** Without `valid`, the result holds only for this request. */
  | { readonly kind: 'caller'; readonly caller: Caller; readonly valid?: Validity }
  | {
      readonly kind: 'rejected'
      readonly code: 'token-invalid' | 'token-expired'
      readonly reason: string
      /** The owner of a genuine credential that has ended. Only for the decision record. */
      readonly subject?: string
      /** The credential's name. Only for the decision record. */
      readonly credential?: string
    }
  | {
      readonly kind: 'failed'
      readonly code: 'key-server-unavailable' | 'key-server-invalid' | 'store-unavailable'
      readonly cause: unknown
    }

export type Rejection = Extract<Authentication, { kind: 'rejected' }>

export interface TokenVerifier {
  /**
   * Every outcome is a value, returned at once if there is nothing to wait for; it throws only for a fault of the
   * program or the store.
   */
  verify(token: string): Authentication | Promise<Authentication>
  /**
   * Whether this process accepted the token before and need not verify it again. Without this method, it remembers no
   * tokens.
   */
  knows?(token: string): boolean
}

/** A verifier whose outcomes can be remembered. */
export interface KeyedVerifier extends TokenVerifier {
  /**
   * Changes whenever a verified token might no longer be valid because a key was rotated away. Undefined while that is
   * unknown: then each token is verified.
   */
  readonly keyGeneration: () => number | undefined
}

/** Policies distinguish users from roles by this prefix, so neither may contain it already (casbin-facts). */
const USER_PREFIX = 'user:'

/** 1 to 128 characters, well-formed Unicode (stores can't distinguish lone surrogates), no control characters. */
export function isSubject(value: unknown): value is string {
  if (typeof value !== 'string' || !value.isWellFormed() || value.startsWith(USER_PREFIX)) return false
  const length = [...value].length
  return length >= 1 && length <= 128 && !/\p{Cc}/u.test(value)
}

/** Checks only the form; the policy decides whether such a role exists. */
export function isClaimableRole(role: string): boolean {
  return role !== '' && role.isWellFormed() && !role.startsWith(USER_PREFIX)
}

/** The credentials of a request, as its headers carry them (RFC 6750 section 2.1). More kinds can join the union. */
export type Credentials =
  | { readonly kind: 'none' }
  | { readonly kind: 'bearer'; readonly token: string }
  | { readonly kind: 'rejected'; readonly reason: string }

/** `rawHeaders` alternates names and values: Node's parsed headers hide a second Authorization. */
export function readCredentials(rawHeaders: readonly string[]): Credentials {
  const values: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.toLowerCase() === 'authorization') values.push(rawHeaders[i + 1] ?? '')
  }
  const [value] = values
  if (value === undefined) return { kind: 'none' }
  if (values.length > 1) return { kind: 'rejected', reason: 'several Authorization headers' }
  const token = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(value)?.[1]
  return token === undefined ? { kind: 'rejected', reason: 'not a bearer token' } : { kind: 'bearer', token }
}

/** Whether it looks like an API key: a JWS begins with the base64url of `{`, so no token begins with `sp_`. */
export function looksLikeApiKey(credential: string): boolean {
  return credential.startsWith('sp_')
}
