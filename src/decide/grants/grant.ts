/** The grant in one cell of a table, and the parts of a table. Types only. */
import type { Action, Resource } from '../../resources/resource.ts'
import type { Ownership, Rule, Views } from '../policy.ts'

/** A cell of semantics.md. */
export interface Grant {
  /** The granted fields; the pseudo-field `*` for an action without fields. Empty: refused. */
  readonly fields: ReadonlySet<string>
  /** The rules that match. */
  readonly allows: readonly Rule[]
  readonly denies: readonly Rule[]
  /** Their lines in policy.csv, in order. */
  readonly lines: readonly number[]
}

/** The relations and conditions that hold: for an object, or, for the result of a write, three sets (`ResultNames`). */
export interface HeldNames {
  readonly stored: readonly string[]
  readonly mixed?: readonly string[]
  readonly proposed?: readonly string[]
}

/** Whether a field is granted when exactly these names hold; `matching` are the rules that match then. */
export type IsGranted = (field: string, held: HeldNames, matching: readonly Rule[]) => boolean

export interface TableParts {
  readonly resource: Resource
  readonly action: Action
  /** The rules whose subject, resource and action fit, and whose names the resource knows. */
  readonly rules: readonly Rule[]
  readonly views: Views | undefined
  readonly ownership: Ownership | undefined
  /** Casbin, or the direct evaluator. */
  readonly isGranted: IsGranted
}
