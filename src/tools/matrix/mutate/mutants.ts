/** A policy with one mistake in it, as text: what the operators make and the parser reads. Types only. */
import type { PolicyFileName, PolicyFiles } from '../../../policy/policy-files.ts'
import type { Resources } from '../../../resources/resource.ts'

/** The mistakes that people make. */
export const OPERATORS = {
  'drop-rule': 'an allow is missing',
  'drop-deny': 'a deny is missing',
  'flip-effect': 'an allow became a deny, or a deny an allow',
  'any-object': 'a rule has any as its relation',
  'drop-relation': 'a rule has one term less',
  'flip-term': 'a rule needs a relation not to hold, or again to hold',
  'drop-result': 'a rule lacks its right side',
  'add-action': 'a rule has one more action',
  'remove-action': 'a rule has one action less',
  'widen-fields': 'a rule grants or denies more fields',
  'add-field': 'a view has one more field',
  'swap-role': 'a rule names another subject',
  'change-relation': 'a relation compares something else',
  'change-condition': 'a condition of requests means something else',
  'add-inheritance': 'a role inherits another one',
  'drop-inheritance': 'a role no longer inherits another one',
  'flip-conceal': 'objects are concealed, or no longer concealed',
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
