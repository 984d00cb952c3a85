/** Policies, resources and callers as plain data: what the oracle is asked about. */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
export type Plain = Readonly<Record<string, Json>>

export interface OracleRule {
  readonly subject: string
  /** A resource, `*` or `system/*`. */
  readonly resource: string
  /** Actions, or `['*']`. */
  readonly actions: readonly string[]
  /** Relations that must all hold; empty is `any`. */
  readonly relations: readonly string[]
  /** Views, or `['*']`. */
  readonly views: readonly string[]
  readonly effect: 'allow' | 'deny'
  /** Milliseconds since the epoch: from this moment on the rule says nothing. */
  readonly until?: number
}

export type OracleRelation =
  | { readonly field: string; readonly equals: string } // `id`, or the name of an attribute of the caller
  | { readonly field: string; readonly in: readonly Json[] }

export interface OraclePolicy {
  readonly roles: readonly string[]
  /** `role` inherits what `inherits` is granted and denied. */
  readonly links: readonly { readonly role: string; readonly inherits: string }[]
  readonly rules: readonly OracleRule[]
  /** By resource, then by relation. */
  readonly relations: ReadonlyMap<string, ReadonlyMap<string, OracleRelation>>
  /** By resource, then by view. */
  readonly views: ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>
}

export interface OracleResource {
  readonly name: string
  readonly builtIn: boolean
  readonly fields: readonly string[]
  /** Fields that are the server's. */
  readonly readOnly: readonly string[]
  /** Fields that a list could be filtered and sorted by; the id is one. */
  readonly indexed: readonly string[]
  /** Actions about no field: delete, options. */
  readonly withoutFields: readonly string[]
}

/** Without an id: no credentials. */
export interface OracleCaller {
  readonly id?: string
  readonly roles: readonly string[]
  readonly claims: Plain
  /** The caller's users record. If there is one, it alone gives the attributes. */
  readonly record?: Plain
}

/** A policy, a resource and a caller: what every question below is about. */
export interface World {
  readonly policy: OraclePolicy
  readonly resource: OracleResource
  readonly caller: OracleCaller
  /** When it is asked, in milliseconds since the epoch; undefined where no rule ends. */
  readonly now?: number
}
