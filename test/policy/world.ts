/** Policies, resources, callers and stored objects as plain data: what the oracle is asked about. */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
export type Plain = Readonly<Record<string, Json>>

export interface OracleRule {
  readonly subject: string
  /** A resource, `*` or `system/*`. */
  readonly resource: string
  /** Actions, or `['*']`. */
  readonly actions: readonly string[]
  /** The terms left of `>`: names of relations or conditions, or `!name`. Empty is `any`. */
  readonly relations: readonly string[]
  /** The terms right of `>`; empty is `any`. Undefined without `>`. */
  readonly after?: readonly string[]
  /** Views, or `['*']`. */
  readonly views: readonly string[]
  readonly effect: 'allow' | 'deny'
  /** Milliseconds since the epoch: from this moment on the rule says nothing. */
  readonly until?: number
}

/** As in ownership.yaml. `equals` is `id`, or the name of an attribute of the caller. */
export type OracleRelation =
  | { readonly field: string; readonly equals: string; readonly fill?: true }
  | { readonly field: string; readonly in: readonly Json[] }
  | { readonly field: string; readonly present: true }
  | { readonly field: string; readonly atLeast?: number; readonly atMost?: number }
  | { readonly field: string; readonly before?: string; readonly after?: string }
  | { readonly through: string; readonly to: string; readonly relation: string; readonly depth?: number }
  | { readonly some: string; readonly where: string; readonly relation: string }
  | { readonly all: readonly string[] }
  | { readonly any: readonly string[] }

/** As in conditions.yaml. */
export type OracleCondition =
  | { readonly network: readonly string[] }
  | { readonly days?: string; readonly from: string; readonly to: string; readonly zone: string }
  | { readonly signedIn: { readonly within?: string; readonly acr?: readonly string[] } }
  | { readonly credential: readonly string[] }

export interface OraclePolicy {
  readonly roles: readonly string[]
  /** `role` inherits what `inherits` is granted and denied. */
  readonly links: readonly { readonly role: string; readonly inherits: string }[]
  readonly rules: readonly OracleRule[]
  /** By resource, then by relation. */
  readonly relations: ReadonlyMap<string, ReadonlyMap<string, OracleRelation>>
  /** By resource, then by view. */
  readonly views: ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>
  /** By name, in the order of the file. */
  readonly conditions?: ReadonlyMap<string, OracleCondition>
  /** Roles that nobody has together: whoever would have two of a set has no role that gives one of it. */
  readonly apart?: readonly (readonly string[])[]
  /** The resources that conceal what the caller may not read. */
  readonly conceal?: ReadonlySet<string>
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
  /** Fields that are arrays. */
  readonly lists?: readonly string[]
  readonly defaults?: Plain
  /** Actions of its own that only PUT or PATCH have. */
  readonly ownWrites?: readonly string[]
}

/** Without an id: no credentials. */
export interface OracleCaller {
  readonly id?: string
  readonly roles: readonly string[]
  readonly claims: Plain
  /** The caller's users record. If there is one, it alone gives the attributes. */
  readonly record?: Plain
  /** `password`, `api-key` or `provider`. */
  readonly credential?: string
  /** When the caller signed in, in milliseconds since the epoch. */
  readonly authTime?: number
  readonly acr?: string
}

/** A policy, a resource and a caller: what every question below is about. */
export interface World {
  readonly policy: OraclePolicy
  readonly resource: OracleResource
  readonly caller: OracleCaller
  /** When it is asked, in milliseconds since the epoch; undefined where no rule, relation or condition looks at it. */
  readonly now?: number
  /** The client's. */
  readonly address?: string
  /** All that is stored, by resource: what relations to other objects look at. */
  readonly objects?: ReadonlyMap<string, readonly Plain[]>
  /** Conditions that are taken to hold, as after a step-up. */
  readonly assumed?: ReadonlySet<string>
}
