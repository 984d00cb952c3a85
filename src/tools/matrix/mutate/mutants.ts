/** A policy with one mistake in it, as text: what the operators make and the parser reads. Types only. */
import type { PolicyFileName, PolicyFiles } from '../../../policy/policy-files.ts'
import type { Resources } from '../../../resources/resource.ts'

/** The mistakes that people make. */
export const OPERATORS = {
  'drop-rule': 'an allow is gone',
  'drop-deny': 'a deny is gone',
  'flip-effect': 'allow became deny, or deny allow',
  'any-object': 'a relation became any',
  'drop-relation': 'one of several relations is gone',
  'add-action': 'an action more',
  'remove-action': 'an action less',
  'widen-fields': 'a rule grants or denies more fields',
  'add-field': 'a view has a field more',
  'swap-role': 'a rule is for somebody else',
  'change-relation': 'a relation compares something else',
  'add-inheritance': 'a role inherits another one',
  'drop-inheritance': 'a role no longer inherits another one',
  'flip-conceal': 'objects are concealed, or no longer',
} as const

export type Operator = keyof typeof OPERATORS

export interface Mutant {
  readonly operator: Operator
  readonly file: PolicyFileName
  /** The line of the mistake in the original policy. */
  readonly line: number
  /** The resource of the mistake, `*` and `system/*` included; undefined if it may be any. */
  readonly resource: string | undefined
  /** The old and the new text, in a few words. */
  readonly change: string
  readonly files: PolicyFiles
}

/** What operators make mutants from. */
export interface Source {
  readonly files: PolicyFiles
  readonly resources: Resources
}
