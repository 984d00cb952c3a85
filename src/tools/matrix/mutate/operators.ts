/** The kinds of mistakes, by their names: a command line needs nothing else of them. */

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
