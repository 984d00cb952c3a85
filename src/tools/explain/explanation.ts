/** An explanation, as plain JSON (docs/schemas/policy-explain.schema.json). Types only. */
import type { ProblemCode } from '../../base/problems/catalogue.ts'
import type { LineEdit } from '../line-edit.ts'

/** Names of relations or conditions. */
export type Names = ReadonlySet<string>

/** A line of a policy file, named as in decision records: `policy.csv:14`. */
type RulePlace = string

/** `depends`: the answer depends on the object or on conditions of the request, so the cases give it. */
export type ExplainedOutcome = 'allow' | 'deny' | 'depends'

/**
 * The deciding stage, in the order of a request: the path and method, blocked.txt, a path that shows the caller's own
 * record, the roles alone, or the caller's relations to the object.
 */
export type DecidingStage = 'request' | 'block' | 'own-record' | 'role' | 'object'

/** The answer that a client gets. */
export interface ExplainedAnswer {
  readonly status: number
  /** Null for an answer that isn't a problem. */
  readonly code: ProblemCode | null
  readonly headers: Readonly<Record<string, string>>
}

export interface QuotedRule {
  readonly place: RulePlace
  /** The line as the file has it. */
  readonly text: string
}

export interface ExplainedRule extends QuotedRule {
  readonly effect: 'allow' | 'deny'
  /** Why the rule's subject applies to the caller, if that isn't obvious: `support inherits member (policy.csv:30)`. */
  readonly through: string | null
  /** The moment when the rule ends (RFC 3339, UTC); null if it doesn't end. */
  readonly until: string | null
}

/** Whether a condition of the request holds, and why. */
export interface ConditionFact {
  readonly name: string
  /** Null if that isn't known. */
  readonly holds: boolean | null
  readonly why: string
}

export interface RelationFact extends ConditionFact {
  /** The objects on which the relation rests, in the order of its steps: `notes/1`, `projects/7`, `memberships/42`. */
  readonly via?: readonly string[]
  /** Whether it holds after the write, if a change of states is assumed; null if that isn't known. */
  readonly after?: boolean | null
}

/** The fields that an answer shows and that a body may write. */
export interface FieldReport {
  /** The fields that the answer shows. */
  readonly shown: readonly string[]
  readonly notShown: readonly string[]
  /** Fields that are granted but that this path doesn't show. */
  readonly cut: readonly string[]
  /** The fields that a body may write; null for an action without a body. */
  readonly writable: readonly string[] | null
  readonly notWritable: readonly string[]
  /** Fields that the server sets: a body may only repeat their present values. */
  readonly server: readonly string[]
  /** The fields that the list may be filtered and sorted by; null for other actions. */
  readonly queryable: readonly string[] | null
}

/** The decision if these relations and conditions hold, and no larger set of another case holds. */
export interface ExplainedCase {
  readonly relations: readonly string[]
  /** Conditions of the request. */
  readonly conditions: readonly string[]
  readonly outcome: 'allow' | 'deny'
  /** For a list: whether it contains such an object; null for other operations. */
  readonly listed: boolean | null
  readonly answer: ExplainedAnswer
  /** The rules that match. */
  readonly rules: readonly RulePlace[]
  /** Null for a refusal, and for an action without fields. */
  readonly fields: FieldReport | null
}

/**
 * One needed change. `role` and `user`: the caller would have this role or be this user. The names of relations and
 * conditions: this one would hold, or, with `not-`, wouldn't. `result` is about the object after the write.
 */
export type NeededChange =
  | { readonly kind: 'credentials' }
  | { readonly kind: 'role'; readonly name: string }
  | { readonly kind: 'user'; readonly name: string }
  | { readonly kind: 'relation' | 'not-relation'; readonly name: string }
  | { readonly kind: 'result' | 'not-result'; readonly name: string }
  | { readonly kind: 'condition' | 'not-condition'; readonly name: string }
  | { readonly kind: 'deny'; readonly rule: RulePlace }

/** A minimal set of changes that together would make the refused request an allowed one. */
export interface Miss {
  readonly changes: readonly NeededChange[]
  /** "if the caller were owner" */
  readonly sentence: string
  /** The rules that would then allow the request. */
  readonly rules: readonly QuotedRule[]
  /** Lines of policy.csv that would allow it; none where no line can. */
  readonly edits: readonly LineEdit[]
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
  /** The revision of the files that were read. */
  readonly revision: string
  readonly request: {
    readonly method: string
    readonly path: string
    /** As the schema file writes it; null, like `resource` and `action`, if no route accepts the request. */
    readonly route: string | null
    readonly resource: string | null
    readonly action: string | null
    /** The id, if it was given. */
    readonly object: string | null
    /** The change of states that is assumed: `draft>placed`. */
    readonly becomes?: string
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
  /** Null if the answer depends on the object or on conditions of the request. */
  readonly answer: ExplainedAnswer | null
  /** The lines that decided; if there are several cases, the lines of all of them. */
  readonly rules: readonly ExplainedRule[]
  readonly relations: readonly RelationFact[]
  /** The conditions of the request that rules about the caller name. */
  readonly conditions: readonly ConditionFact[]
  /** Empty unless the answer depends on an object, on a list's or a new object, or on conditions of the request. */
  readonly cases: readonly ExplainedCase[]
  /** The answer for an object that doesn't exist, if the path names one. */
  readonly missing: ExplainedAnswer | null
  /** The nearest misses; empty if the request is allowed. */
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
  /** Null if the record doesn't tell, and if the policy didn't decide: for a rate limit or a faulty body. */
  readonly sameOutcome: boolean | null
  /** The number of the break-glass that gave the caller a role (`access grants`). */
  readonly breakGlass?: number
  /** One sentence. */
  readonly verdict: string
}
