/** The caller of a request. The policy decides what a caller may do. */
export interface Caller {
  /** 1 to 128 characters, well-formed Unicode, no control characters. */
  readonly id: string
  /** As the credential claims them; the policy decides which exist. */
  readonly roles: readonly string[]
  /** Of an API key: the roles of its subject's users record, if there is one. `roles` has only roles among them. */
  readonly recordRoles?: readonly string[] | undefined
  /** Why it has some of `roles` until a time. */
  readonly granted?: readonly RoleGrant[] | undefined
  /** Claims of an OpenID provider about the caller; the policy's roles.yaml maps them to roles. */
  readonly provided?: readonly string[] | undefined
  /** The other claims of the credential: the caller's attributes if there is no users record. */
  readonly claims: Readonly<Record<string, unknown>>
  /** The session of the token, if the caller signed in here. */
  readonly session?: string | undefined
  /**
   * The time at which the caller signed in, in milliseconds since the epoch; a renewed token keeps it. Undefined for API
   * keys, and for tokens without `auth_time`.
   */
  readonly authTime?: number | undefined
  /** The authentication context class of the sign-in (`acr`); undefined for API keys, and for tokens without it. */
  readonly acr?: string | undefined
  /** The credential, as in decision records; undefined for tokens of this server's own issuer. */
  readonly credential?: string | undefined
}

/** A role that a caller has until a time. */
export interface RoleGrant {
  readonly number: number
  readonly kind: 'break-glass' | 'request'
  readonly role: string
  /** Milliseconds since the epoch: from then on it counts for nothing. */
  readonly until: number
  /** The people who have signed it. */
  readonly signedBy: readonly string[]
}

/**
 * Whose share a request counts for: of time, of connections, of unread answers. A request without a caller counts for its
 * address, as limits count it.
 */
export function callerKey({
  caller,
  address,
}: {
  readonly caller: Pick<Caller, 'id'> | undefined
  readonly address: string
}): string {
  return caller ? `s:${caller.id}` : `a:${address}`
}
