/** The answers of /policy/v1, as far as the pages read them; docs/schemas/ has their whole shapes. */

import type { Told } from './ask.ts'

export interface PolicyFiles {
  readonly revision: string
  /** The instance that answers has decided by it from then on. */
  readonly since: string
  readonly source: 'folder' | 'published'
  readonly faults: readonly string[]
  readonly files: Readonly<Record<string, string>>
  readonly schemas: Readonly<Record<string, string>>
}

export interface Instance {
  readonly instance: string
  readonly state: string
  readonly sequence: number
  readonly faults: readonly string[]
}

export interface Finding {
  readonly file: string
  readonly line: number
  readonly column: number
  readonly code: string
  readonly severity: 'error' | 'warning'
  readonly message: string
  readonly hint?: string
}

export interface Guarantee {
  readonly name: string
  readonly status: string
  readonly reason?: string
}

export interface Checked {
  readonly errors: number
  readonly warnings: number
  readonly suppressed: number
  readonly findings: readonly Finding[]
  readonly guarantees: readonly Guarantee[]
}

export interface Matrix {
  readonly revision: string
  readonly callers: readonly { readonly name: string; readonly description?: string }[]
  readonly rows: readonly MatrixRow[]
  readonly rules?: readonly { readonly place: string; readonly text: string }[]
  readonly guarantees: readonly MatrixGuarantee[]
}

export interface MatrixGuarantee {
  readonly name: string
  readonly status: string
  readonly about: readonly {
    readonly kind: string
    readonly callers: readonly string[]
    readonly resource: string
    readonly actions: readonly string[]
    readonly fields?: readonly string[]
    readonly terms?: string
  }[]
}

export interface MatrixRow {
  readonly resource: string
  readonly path: string
  readonly methods: readonly string[]
  readonly action: string
  readonly object: string
  readonly relation: string
  readonly becomes?: string
  readonly fields: readonly string[]
  readonly cells: readonly MatrixCell[]
}

export interface MatrixCell {
  readonly caller: string
  readonly outcome: 'allowed' | 'denied'
  readonly granted: string
  readonly fields: readonly string[]
  readonly views: readonly string[]
  readonly reason: string
  readonly rules: readonly { readonly place: string; readonly effect: string }[]
}

interface AnswerOf {
  readonly status: number
  readonly code: string | null
}

interface RuleText {
  readonly place: string
  readonly text: string
}

export interface Explained {
  readonly revision: string
  readonly request: { readonly method: string; readonly path: string; readonly object: string | null }
  readonly caller: {
    readonly subject: string | null
    readonly roles: readonly { readonly name: string }[]
  }
  readonly outcome: 'allow' | 'deny' | 'depends'
  readonly reason: string
  readonly answer: AnswerOf | null
  readonly rules: readonly (RuleText & { readonly effect: string })[]
  readonly relations: readonly { readonly name: string; readonly holds: boolean | null; readonly why: string }[]
  readonly conditions: readonly { readonly name: string; readonly holds: boolean | null; readonly why: string }[]
  readonly cases: readonly {
    readonly relations: readonly string[]
    readonly conditions: readonly string[]
    readonly outcome: string
    readonly answer: AnswerOf | null
    readonly rules: readonly string[]
  }[]
  readonly misses: readonly {
    readonly sentence: string
    readonly rules: readonly RuleText[]
    readonly edits: readonly LineEdit[]
  }[]
  readonly notes: readonly string[]
}

export interface WhoCan {
  readonly who: readonly {
    readonly kind: string
    readonly subject: string | null
    readonly roles: readonly string[]
    readonly when: readonly string[]
    readonly fields: readonly string[]
    readonly rules: readonly string[]
    readonly lastDone: string | null
  }[]
  readonly undecided: readonly { readonly subject: string | null; readonly why: string }[]
}

export interface CanDo {
  readonly subject: string
  readonly roles: readonly string[]
  readonly status: string
  readonly resources: readonly {
    readonly resource: string
    readonly objects: number
    readonly actions: readonly {
      readonly action: string
      readonly when: readonly string[]
      readonly objects: number | null
    }[]
  }[]
  readonly undecided: readonly { readonly resource: string; readonly action: string; readonly why: string }[]
}

export interface DecisionRecord {
  readonly time: string
  readonly requestId: string
  readonly method: string
  readonly route?: string
  readonly resource?: string
  readonly action?: string
  readonly objectId?: string
  readonly subject?: string
  readonly authentication?: string
  readonly outcome: 'allowed' | 'refused' | 'failed'
  readonly problem?: string
  readonly status: number
  readonly rules?: readonly string[]
}

export interface Change {
  readonly direction: 'widening' | 'narrowing' | 'either' | 'neutral'
  readonly sentence: string
}

export interface Diff {
  readonly changes: readonly Change[]
  /** Why there is nothing to compare. */
  readonly refused: readonly string[]
  /** What each changed line means by itself; some of them. */
  readonly lines?: readonly MeaningOfLine[]
}

export interface MeaningOfLine {
  readonly file: string
  /** From 1. */
  readonly line: number
  readonly says: readonly string[]
}

export interface NamesAtPlace {
  /** A chosen name replaces what stands there, so many characters long. */
  readonly place: { readonly column: number }
  readonly length: number
  readonly names: readonly { readonly name: string; readonly kind: string; readonly meaning: string | null }[]
}

export interface Drafted {
  readonly check: Told<Checked>
  /** Null for files with errors. */
  readonly diff: Told<Diff> | null
}

export interface UsedLine {
  readonly rule: string
  readonly subject: string
  readonly resource: string
  readonly effect: string
  readonly use: string
  readonly decided: number
  readonly matched: number
  readonly people: number
  readonly morePeople: boolean
  readonly last: string | null
}

export interface Usage {
  readonly since: string
  readonly until: string
  readonly lines: readonly UsedLine[]
}

export interface Version {
  readonly number: number
  readonly revision: string
  readonly time: string
  readonly user: string
  readonly kind: string
  readonly reason: string | null
  readonly of: number | null
}

export interface Proposal {
  readonly proposal: number
  readonly state: string
  readonly title: string | null
  readonly by: string | null
  readonly time: string | null
  readonly notBefore: string | null
  readonly expires: string | null
  readonly said: readonly {
    readonly by: string
    readonly key: string
    readonly says: string
    readonly reason: string | null
  }[]
}

export interface Review {
  readonly diff?: Diff
  readonly needs?: readonly { readonly sentence: string; readonly missing: number; readonly open: readonly string[] }[]
  readonly matrices?: { readonly unmet?: readonly unknown[] }
}

export interface AccessRow {
  readonly resource: string
  readonly action: string
  readonly subject: string
  readonly key: string | null
  readonly roles: readonly string[]
  readonly when: readonly string[]
  readonly objects: number | null
  readonly fields: readonly { readonly names: readonly string[] }[]
}

export interface AccessReport {
  readonly revision: string
  readonly rows: readonly AccessRow[]
  readonly findings: readonly { readonly message: string }[]
  readonly undecided: readonly {
    readonly subject: string
    readonly resource: string
    readonly action: string
    readonly why: string
  }[]
}

/** A line of a file in force that gets another text, which may be several lines; null takes it away. */
export interface LineEdit {
  readonly file: string
  readonly line: number
  readonly text: string | null
}

export interface SignedReview {
  readonly time: string
  readonly revision: string
  readonly confirmed: number
  readonly revoked: number
  readonly undecided: number
  readonly revoking: { readonly edits: readonly LineEdit[]; readonly keys: readonly string[] }
}

interface SaidOfGrant {
  readonly by: string
  readonly text: string | null
}

export interface AccessGrant {
  readonly grant: number
  readonly kind: string
  readonly state: string
  readonly role: string
  readonly to: string
  readonly by: string | null
  readonly reason: string
  readonly until: string
  readonly approvals: readonly SaidOfGrant[]
  readonly review: SaidOfGrant | null
  readonly reviewUntil: string | null
}

export interface ShownMatrices {
  readonly matrices: readonly {
    readonly file: string
    readonly rows: readonly (readonly string[])[]
    /** `line:column` of each cell. */
    readonly places: readonly (readonly string[])[]
  }[]
  readonly faults: readonly Finding[]
}

export interface TrialResult {
  readonly kind: 'cell' | 'case'
  readonly title: string
  readonly place: { readonly file: string; readonly line: number; readonly column: number }
  readonly outcome: 'passed' | 'failed' | 'impossible' | 'left-out'
  readonly why?: string
  readonly cause?: string
  readonly explain?: string
  readonly status?: number
}

interface MatrixTested {
  readonly counts: Readonly<Record<TrialResult['outcome'], number>>
  readonly remarks: readonly string[]
  readonly results: readonly TrialResult[]
}

export interface MatrixRun {
  readonly matrices: Told<ShownMatrices>
  /** Null for rows with faults. */
  readonly test: Told<MatrixTested> | null
}

export interface NewMatrices {
  /** Null if nothing is missing. */
  readonly matrices: Told<ShownMatrices> | null
  readonly bodies: Readonly<Record<string, string>>
}

interface Measured<T> {
  readonly total: number
  readonly covered: number
  readonly percent: number
  readonly missing: readonly T[]
}

interface PolicyPart {
  readonly place: string
  readonly text: string
}

export interface MatrixCoverage {
  readonly cells: Measured<{
    readonly method: string
    readonly path: string
    readonly object: string
    readonly column: string
  }>
  readonly rules: Measured<PolicyPart>
  readonly terms: Measured<PolicyPart>
  readonly results: Measured<PolicyPart>
  readonly relations: Measured<PolicyPart>
  readonly views: Measured<PolicyPart>
  readonly mistakes: readonly (PolicyPart & { readonly operators: readonly string[] })[]
}

export interface Mutation {
  readonly score: number
  readonly killed: number
  readonly survived: number
  readonly notFound: number
  readonly mutants: readonly {
    readonly operator: string
    readonly place: string
    readonly change: string
    readonly outcome: string
    readonly witness?: { readonly rows?: string }
  }[]
}

export interface StatedCells {
  readonly cells: readonly {
    readonly place: TrialResult['place']
    readonly cell: {
      readonly object: string
      readonly expected: string
      readonly event?: string
      readonly when?: string
      readonly becomes?: string
    }
  }[]
}

export interface Replayed {
  readonly decided: number
  readonly same: number
  readonly undecidable: readonly { readonly why: string; readonly count: number }[]
  readonly differences: readonly {
    readonly change: string
    readonly was: string
    readonly becomes: string
    readonly method: string
    readonly route: string
    /** Null without credentials. */
    readonly roles: readonly string[] | null
    readonly relations: readonly string[]
    readonly rules: readonly string[]
    readonly count: number
  }[]
}
