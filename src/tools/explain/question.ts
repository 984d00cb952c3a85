/** A question to explain: the caller, the request, and what is known about the object. */

import { inheritedBy } from '../../decide/callers-and-routes.ts'
import type { Policy } from '../../decide/policy.ts'
import type { KnownFacts } from '../../decide/relations/relation-kind.ts'
import type { Endpoint, Method, Representation, Resources, Route } from '../../resources/resource.ts'
import type { LoadedPolicy } from '../load-policy.ts'
import type { ExplainedAnswer, ExplainedRole } from './explanation.ts'
import type { StateChange } from './facts/state-change.ts'

/** A caller without a subject stands for anybody with credentials. */
export type AskingCaller =
  | { readonly kind: 'anonymous' }
  | { readonly kind: 'caller'; readonly subject: string | undefined; readonly roles: readonly string[] }

/** The router's result; a request that no route accepts comes with the server's answer. */
export type MatchedRequest =
  | {
      readonly kind: 'route'
      readonly method: Method
      readonly route: Route
      readonly endpoint: Endpoint
      /** The object's id, if the path has one in place of `{id}`. */
      readonly id: string | undefined
    }
  | { readonly kind: 'refused'; readonly method: string; readonly answer: ExplainedAnswer; readonly reason: string }

/**
 * What is known about the object: at most its id, its relations (given by the user or the record), or its stored
 * fields.
 */
export type KnownObject =
  | { readonly kind: 'any'; readonly id: string | undefined }
  | {
      readonly kind: 'relations'
      readonly from: '--relation' | 'the record'
      readonly id: string | undefined
      readonly holding: ReadonlySet<string>
    }
  | {
      readonly kind: 'object'
      readonly id: string
      /** Undefined if there is no such object. */
      readonly object: Representation | undefined
      /** The caller's users record; undefined if there is none. */
      readonly record: Representation | undefined
      /** The objects on which relations rest. */
      readonly related: KnownFacts['related']
    }

/** What is known about a request: its address, or which conditions hold. */
export interface KnownRequest {
  /** The client's. */
  readonly address?: string | undefined
  /** Whether conditions hold that are told, by name. */
  readonly conditions?:
    | { readonly holds: ReadonlyMap<string, boolean>; readonly from: '--with' | 'the record' }
    | undefined
}

export interface ExplainQuestion {
  readonly reviewed: LoadedPolicy
  readonly resources: Resources
  readonly caller: AskingCaller
  /** As the user wrote it. */
  readonly path: string
  readonly request: MatchedRequest
  readonly known: KnownObject
  /** Attributes of the caller from a decision record; an attribute that the caller didn't have is null. */
  readonly attributes?: Representation | undefined
  /** What is known about the conditions of the request, besides its time. */
  readonly told: KnownRequest
  /** The states that the write changes, if they are supposed. */
  readonly becomes?: StateChange | undefined
  /** The time of the request, in milliseconds since the epoch: rules and blocks may end. */
  readonly now: number
}

export function explainRoles(policy: Policy, caller: AskingCaller): readonly ExplainedRole[] {
  const roles = caller.kind === 'anonymous' ? [] : caller.roles
  return [...new Set(roles)].map((name) => {
    const declared = policy.roles.has(name)
    return { name, declared, inherits: declared ? [...inheritedBy(policy, name)].filter((role) => role !== name) : [] }
  })
}
