/** A parsed and checked policy, before any decision. Types only. */

import type { Place } from '../base/diagnostic.ts'
import type { CallerEntries } from './grants/trust.ts'
import type { Relation } from './relations/relation-kind.ts'
import type { RequestCondition } from './request-conditions/all-conditions.ts'

/** One name in the relation column of a rule: a relation or a condition that holds, or, negated, doesn't. */
export interface Term {
  readonly name: string
  readonly negated: boolean
}

/** One `p` line of policy.csv. */
export interface Rule {
  readonly line: number
  /** A role, `everyone`, `anonymous` or `user:<id>`. */
  readonly subject: string
  /** A resource, `*` (every data resource) or `system/*`. */
  readonly resource: string
  /** Action names, or `*` alone. */
  readonly actions: readonly string[]
  /** The terms left of `>`, for the object as it is stored; empty for `any`. */
  readonly before: readonly Term[]
  /** The terms right of `>`, for the result of a write; absent for a rule without `>`. */
  readonly after?: readonly Term[]
  /** View names, or `*` alone. */
  readonly views: readonly string[]
  readonly effect: 'allow' | 'deny'
  /** The time at which the rule ends, in milliseconds since the epoch; absent for a rule without end. */
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
  /** The claims of an OpenID provider that give a caller this role. */
  readonly claims: readonly string[]
}

export interface Ownership {
  readonly relations: ReadonlyMap<string, Relation>
  readonly conceal: boolean
}

/** View name to the fields that it holds. */
export type Views = ReadonlyMap<string, ReadonlySet<string>>

/** The requests that a limit counts; an absent member doesn't restrict. */
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
  /** The largest document that a write may store, in bytes of JSON. */
  readonly objectBytes: number
  /** The most bytes that the objects of one page of a list may take; the first object may exceed it. */
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
  /** By name, in the order of conditions.yaml. A name is a condition's or a relation's, never both. */
  readonly conditions: ReadonlyMap<string, RequestCondition>
  /** By resource. */
  readonly views: ReadonlyMap<string, Views>
  readonly limits: Limits
  /** The fields that decision records leave out. */
  readonly masks: Masks
  /** What PEPs may assert. */
  readonly callers: CallerEntries
  /** What each version must keep; no decision asks for it. */
  readonly guarantees: readonly Guarantee[]
  /** What must hold of people and keys: nothing of it is proved, and each write keeps it. */
  readonly roleGuarantees: readonly RoleGuarantee[]
  /** What the next version may not do: whoever puts a version in force compares it with the former one. */
  readonly ratchets: readonly Ratchet[]
  /** Who may approve the next version that is published; undefined where a key of POLICY_PUBLIC_KEYS is enough. */
  readonly approvals: Approvals | undefined
  /** Who is sent events; no decision asks for it. */
  readonly subscriptions: readonly Subscription[]
}

/** An entry of subscriptions.yaml: an address that is sent what an API key would see. */
export interface Subscription {
  readonly name: string
  readonly url: string
  /** The id of the API key. */
  readonly key: string
  readonly resource: string
  /** Of the stream of events, with its query. */
  readonly path: string
  /** The number of the secret that signs. */
  readonly secret: number
  readonly enabled: boolean
}

/** approvals.yaml. No decision asks for it. */
export interface Approvals {
  /** By name. */
  readonly people: ReadonlyMap<string, Approver>
  readonly widens: ApprovalNeed
  readonly narrows: ApprovalNeed
  readonly blocks: ApprovalNeed
  /** In the order of the file. */
  readonly touches: readonly TouchNeed[]
  readonly breakGlass: BreakGlass | undefined
  /** By role: the roles that a caller may have for a time. */
  readonly requests: ReadonlyMap<string, RoleRequests>
}

/** Who may give a role alone in an emergency. */
interface BreakGlass {
  /** Groups. */
  readonly from: readonly string[]
  readonly roles: readonly string[]
  readonly forMs: number
  /** Within this time somebody else must have reviewed it. */
  readonly reviewMs: number
}

/** The need counts the people beside the caller who gets the role. */
interface RoleRequests extends ApprovalNeed {
  readonly forMs: number
}

interface Approver {
  readonly keys: readonly PersonKey[]
  readonly groups: readonly string[]
  /** The id of the person as a caller; undefined for the name. */
  readonly user?: string | undefined
}

/** A public Ed25519 key. */
export interface PersonKey {
  /** RFC 7638 thumbprint. */
  readonly kid: string
  /** The 32 bytes, base64url: `x` of a JWK (RFC 8037). */
  readonly x: string
}

export interface ApprovalNeed {
  /** Beside the author. */
  readonly people: number
  /** The groups that count; undefined for everybody. */
  readonly from?: readonly string[] | undefined
}

/** For changes of a resource, or of files. */
export interface TouchNeed extends ApprovalNeed {
  readonly resource?: string | undefined
  readonly file?: readonly string[] | undefined
}

/** An entry of guarantees.yaml about rules. */
export type Guarantee = GrantGuarantee | ApartGuarantee

interface NamedGuarantee {
  readonly name: string
  readonly place: Place
}

/** `never`: callers have no more than an allow with these terms would give. `always`: they have no less. */
export interface GrantGuarantee extends NamedGuarantee, GuaranteedAct {
  readonly kind: 'never' | 'always'
}

/** An entry of guarantees.yaml about changes: the next version makes the resource no wider, or no narrower. */
export interface Ratchet extends NamedGuarantee {
  readonly kind: 'ratchet'
  readonly never: 'widen' | 'narrow'
  readonly resource: string
  /** Absent: all. */
  readonly actions?: readonly string[]
}

/** No caller does both on one object; with `anywhere`, on any two. */
export interface ApartGuarantee extends NamedGuarantee {
  readonly kind: 'apart'
  readonly acts: readonly [GuaranteedAct, GuaranteedAct]
  readonly anywhere: boolean
}

/** What some callers do. */
export interface GuaranteedAct {
  readonly subjects: GuaranteedSubjects
  readonly resource: string
  readonly actions: readonly string[]
  /** Absent: some field, which is what allows an action. */
  readonly fields?: readonly string[]
  /** What `unless` or `when` says; absent where it says nothing. */
  readonly terms?: Pick<Rule, 'before' | 'after'>
}

/** An entry of guarantees.yaml about people. */
export type RoleGuarantee = RolesApartGuarantee | AtMostGuarantee

/** Nobody has two of these roles. */
interface RolesApartGuarantee extends NamedGuarantee {
  readonly kind: 'roles-apart'
  readonly roles: readonly string[]
}

/** No more people have the role. */
interface AtMostGuarantee extends NamedGuarantee {
  readonly kind: 'at-most'
  readonly role: string
  readonly people: number
}

/** `with`: callers who have one of these roles, `anonymous` or `everyone`. `without`: callers who have none of these. */
export type GuaranteedSubjects = { readonly with: readonly string[] } | { readonly without: readonly string[] }

/** One line of blocked.txt; `until` in milliseconds since the epoch. */
export interface Block {
  /** Without the prefix `user:`. */
  readonly id: string
  readonly until: number | undefined
}

/** The fields that decision records leave out (policies/masks.yaml). */
export interface Masks {
  /** Fields of every record. */
  readonly fields: ReadonlySet<MaskedField>
  /** By resource: fields of its objects, or `*` for all of them. */
  readonly facts: ReadonlyMap<string, ReadonlySet<string>>
}

export const MASKABLE = ['address', 'subject', 'roles', 'objectId', 'reason'] as const
export type MaskedField = (typeof MASKABLE)[number]

export function namesMasked({ masks: { fields, facts } }: Pick<Policy, 'masks'>): readonly string[] {
  return [...fields, ...[...facts].flatMap(([resource, names]) => [...names].map((name) => `${resource}.${name}`))]
}

export const NO_MASKS: Masks = { fields: new Set(), facts: new Map() }

/** The resource whose fields are the attributes of callers, and whose ids are subjects. */
export const USERS = 'users'

/** The roles that inherit it, also through others. */
export function heirsOf({ links }: Pick<Policy, 'links'>, role: string): ReadonlySet<string> {
  const reached = new Set([role])
  for (const name of reached) for (const link of links) if (link.inherits === name) reached.add(link.role)
  reached.delete(role)
  return reached
}

/** A role and all that it inherits. */
export function inheritedBy({ links }: Pick<Policy, 'links'>, role: string): ReadonlySet<string> {
  const reached = new Set([role])
  // A Set's iterator also visits what is added while it runs.
  for (const name of reached) for (const link of links) if (link.role === name) reached.add(link.inherits)
  return reached
}
