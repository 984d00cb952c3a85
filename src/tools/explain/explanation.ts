/** An explanation, as plain JSON (docs/schemas/policy-explain.schema.json). Types only. */
import type { ProblemCode } from '../../base/problems/catalogue.ts'

/** A line of a policy file, called as in decision records: `policy.csv:14`. */
type RulePlace = string

/** `depends`: on the object, so that only the cases tell. */
export type ExplainedOutcome = 'allow' | 'deny' | 'depends'

/**
 * What decided, in the order of a request: the path and method, blocked.txt, a path that shows the caller's own record,
 * the roles alone, or how the caller relates to the object.
 */
export type DecidingStage = 'request' | 'block' | 'own-record' | 'role' | 'object'

/** What a client gets. */
export interface ExplainedAnswer {
  readonly status: number
  /** Null for an answer that isn't a problem. */
  readonly code: ProblemCode | null
  readonly headers: Readonly<Record<string, string>>
}

export interface QuotedRule {
  readonly place: RulePlace
  /** As it stands in the file. */
  readonly text: string
}

export interface ExplainedRule extends QuotedRule {
  readonly effect: 'allow' | 'deny'
  /**
   * How the rule's subject comes to be one of the caller's, where that isn't plain:
   * `support inherits member (policy.csv:30)`.
   */
  readonly through: string | null
  /** The moment from which on it is gone (RFC 3339, UTC); null when it doesn't end. */
  readonly until: string | null
}

export interface RelationFact {
  readonly name: string
  /** Null when that isn't known. */
  readonly holds: boolean | null
  readonly why: string
}

/** Which fields an answer shows and a body may write. */
export interface FieldReport {
  /** What the answer shows. */
  readonly shown: readonly string[]
  readonly notShown: readonly string[]
  /** Granted, but not part of what this path shows. */
  readonly cut: readonly string[]
  /** What a body may write; null for an action that takes no body. */
  readonly writable: readonly string[] | null
  readonly notWritable: readonly string[]
  /** Set by the server: a body may only bring them back unchanged. */
  readonly server: readonly string[]
  /** The fields that the list may be filtered and sorted by; null for other actions. */
  readonly queryable: readonly string[] | null
}

/** The decision when these relations hold, and no larger set of another case. */
export interface ExplainedCase {
  readonly relations: readonly string[]
  readonly outcome: 'allow' | 'deny'
  /** For a list: whether such an object is in it; null elsewhere. */
  readonly listed: boolean | null
  readonly answer: ExplainedAnswer
  /** The rules that match. */
  readonly rules: readonly RulePlace[]
  /** Null for a refusal, and for an action without fields. */
  readonly fields: FieldReport | null
}

/** One change without which nothing is missing. `role` and `user`: the caller had or was it. */
export type NeededChange =
  | { readonly kind: 'credentials' }
  | { readonly kind: 'role'; readonly name: string }
  | { readonly kind: 'user'; readonly name: string }
  | { readonly kind: 'relation'; readonly name: string }
  | { readonly kind: 'deny'; readonly rule: RulePlace }

/** The least changes (all of them together) that would make the refused request an allowed one. */
export interface Miss {
  readonly changes: readonly NeededChange[]
  /** "if the caller were owner" */
  readonly sentence: string
  /** The rules that would allow it then. */
  readonly rules: readonly QuotedRule[]
}

export interface ExplainedRole {
  readonly name: string
  /** A role that roles.yaml doesn't declare grants nothing. */
  readonly declared: boolean
  readonly inherits: readonly string[]
}

export interface Explanation {
  /** The time of the request: rules and blocks may end (RFC 3339, UTC). */
  readonly at: string
  /** Of the files that were read. */
  readonly revision: string
  readonly request: {
    readonly method: string
    readonly path: string
    /** As the schema file writes it; null, as what follows, when no route accepts the request. */
    readonly route: string | null
    readonly resource: string | null
    readonly action: string | null
    /** The id, where it was given. */
    readonly object: string | null
  }
  readonly caller: {
    readonly anonymous: boolean
    readonly subject: string | null
    readonly roles: readonly ExplainedRole[]
  }
  readonly outcome: ExplainedOutcome
  readonly stage: DecidingStage
  /** One sentence. */
  readonly reason: string
  /** Null when it depends. */
  readonly answer: ExplainedAnswer | null
  /** The lines that decided; where there are several cases, the lines of all of them. */
  readonly rules: readonly ExplainedRule[]
  readonly relations: readonly RelationFact[]
  /** Empty unless an object, a list or a new object was decided about. */
  readonly cases: readonly ExplainedCase[]
  /** The answer for an object that doesn't exist, if the path names one. */
  readonly missing: ExplainedAnswer | null
  /** Why not: empty when the request is allowed. */
  readonly misses: readonly Miss[]
  readonly notes: readonly string[]
  /** Null unless a decision record was explained. */
  readonly record: RecordComparison | null
}

export interface RecordComparison {
  readonly requestId: string | null
  readonly revision: string
  readonly sameRevision: boolean
  readonly status: number
  readonly problem: string | null
  /** The lines that the record names. */
  readonly rules: readonly RulePlace[]
  readonly sameRules: boolean
  /** Null when the policy alone can't tell, as for a rate limit or a faulty body. */
  readonly sameOutcome: boolean | null
  /** One sentence. */
  readonly verdict: string
}
