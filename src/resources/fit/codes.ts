/** Why stored objects may not fit: stable codes, by the keyword of the new schema. */

export type FitCode =
  | 'resource-removed'
  | 'field-removed'
  | 'field-required'
  | 'fields-closed'
  | 'type-narrowed'
  | 'values-narrowed'
  | 'bounds-narrowed'
  | 'pattern-changed'
  | 'format-changed'
  | 'items-distinct'
  | 'rule-changed'
  | 'unique-added'
  | 'too-large'

const BOUNDS = [
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  ...['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'],
]

/** Other keywords give `rule-changed`. */
export const CODE_OF_KEYWORD: Readonly<Record<string, FitCode>> = {
  ...Object.fromEntries(BOUNDS.map((keyword) => [keyword, 'bounds-narrowed' as const])),
  additionalProperties: 'field-removed',
  'false schema': 'type-narrowed',
  required: 'field-required',
  type: 'type-narrowed',
  enum: 'values-narrowed',
  const: 'values-narrowed',
  pattern: 'pattern-changed',
  format: 'format-changed',
  uniqueItems: 'items-distinct',
}
