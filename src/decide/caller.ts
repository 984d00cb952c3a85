/**
 * The caller of a request, with the roles that it has until a time (docs/approvals.md). The policy decides what a caller
 * may do.
 */
import type { Credential } from './request-conditions/credential.ts'

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

/** The caller's kind of credential; `password` for every token of this server's own issuer. */
export function credentialKindOf({ credential: used }: Pick<Caller, 'credential'>): Credential {
  if (used === undefined) return 'password'
  return used.startsWith('key ') ? 'api-key' : 'provider'
}

/** By the id of the caller. */
export type RoleGrants = ReadonlyMap<string, readonly RoleGrant[]>

/** The grants of a caller that count at a time in milliseconds since the epoch. */
export function grantsTo(grants: RoleGrants | undefined, id: string, now: number): readonly RoleGrant[] {
  return grants?.get(id)?.filter(({ until }) => now < until) ?? []
}

/** An API key has the roles that it was made with, and no others. */
export function withGrants(caller: Caller, grants: RoleGrants, now: number): Caller {
  const granted = grantsTo(grants, caller.id, now)
  if (granted.length === 0 || credentialKindOf(caller) === 'api-key') return caller
  const roles = new Set([...caller.roles, ...granted.map(({ role }) => role)])
  return Object.freeze({ ...caller, roles: Object.freeze([...roles]), granted })
}

/** For a record: the numbers of the grants that give the caller roles, and of the one that somebody must review. */
export function grantNumbers(granted: readonly RoleGrant[]): {
  readonly grants: readonly number[]
  readonly breakGlass?: number
} {
  const broken = granted.find(({ kind }) => kind === 'break-glass')
  return { grants: granted.map(({ number }) => number), ...(broken && { breakGlass: broken.number }) }
}
