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

/** Whether a field is granted when exactly these relations hold; `matching` are the rules that match then. */
export type IsGranted = (field: string, relations: readonly string[], matching: readonly Rule[]) => boolean

export interface TableParts {
  readonly resource: Resource
  readonly action: Action
  /** The rules whose subject, resource and action fit, and whose relations the resource has. */
  readonly rules: readonly Rule[]
  readonly views: Views | undefined
  readonly ownership: Ownership | undefined
  /** Casbin, or the direct evaluator. */
  readonly isGranted: IsGranted
}
