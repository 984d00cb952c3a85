/** A policy as its files say it, parsed and checked, before anybody asks it anything. Types only. */
import type { Relation } from './relations/all-kinds.ts'

/** One `p` line of policy.csv. */
export interface Rule {
  readonly line: number
  /** A role, `everyone`, `anonymous` or `user:<id>`. */
  readonly subject: string
  /** A resource, `*` (every data resource) or `system/*`. */
  readonly resource: string
  /** Action names, or `*` alone. */
  readonly actions: readonly string[]
  /** Relations that must all hold; empty for `any`. */
  readonly relations: readonly string[]
  /** View names, or `*` alone. */
  readonly views: readonly string[]
  readonly effect: 'allow' | 'deny'
  /** The moment from which on it is gone, in milliseconds since the epoch; absent for a rule without end. */
  readonly until?: number
}

/** One `g` line of policy.csv: `role` inherits all that `inherits` is granted or denied. */
export interface RoleLink {
  readonly line: number
  readonly role: string
  readonly inherits: string
}

export interface Role {
  readonly name: string
  readonly description: string
  readonly privileged: boolean
  /** What an OpenID provider says of callers who have this role. */
  readonly claims: readonly string[]
}

export interface Ownership {
  readonly relations: ReadonlyMap<string, Relation>
  readonly conceal: boolean
}

/** View name to the fields that it holds. */
export type Views = ReadonlyMap<string, ReadonlySet<string>>

/** Which requests a limit counts; what is absent doesn't restrict. */
export interface LimitMatch {
  readonly role?: string
  readonly resource?: string
  readonly action?: string
  readonly credentials?: 'rejected'
}

export interface Limit {
  readonly name: string
  readonly match: LimitMatch
  readonly per: 'subject' | 'address'
  readonly allow: number
  readonly windowMs: number
}

export interface Limits {
  readonly bodyBytes: number
  /** The largest document that a write may leave, as JSON. */
  readonly objectBytes: number
  /** The most that the objects of one page of a list may take, but for the first one. */
  readonly answerBytes: number
  readonly page: { readonly default: number; readonly max: number }
  readonly limits: readonly Limit[]
}

export interface Policy {
  readonly roles: ReadonlyMap<string, Role>
  readonly rules: readonly Rule[]
  readonly links: readonly RoleLink[]
  /** By resource. */
  readonly ownership: ReadonlyMap<string, Ownership>
  /** By resource. */
  readonly views: ReadonlyMap<string, Views>
  readonly limits: Limits
  /** What decision records don't hold. */
  readonly masks: Masks
}

/** One line of blocked.txt; `until` in milliseconds since the epoch. */
export interface Block {
  /** Without the prefix `user:`. */
  readonly id: string
  readonly until: number | undefined
}

/** What decision records don't hold (policies/masks.yaml). */
export interface Masks {
  /** Fields of every record. */
  readonly fields: ReadonlySet<MaskedField>
  /** By resource: fields of its objects, or `*` for all of them. */
  readonly facts: ReadonlyMap<string, ReadonlySet<string>>
}

export const MASKABLE = ['address', 'subject', 'roles', 'objectId', 'reason'] as const
export type MaskedField = (typeof MASKABLE)[number]

export const NO_MASKS: Masks = { fields: new Set(), facts: new Map() }

/** The resource whose fields are the attributes of callers, and whose ids are subjects. */
export const USERS = 'users'
