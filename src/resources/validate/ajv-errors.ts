/** What an Ajv error says to people, and which value it is about. */
import type { ErrorObject } from 'ajv/dist/2020.js'
import type { Path } from '../../base/json-pointer.ts'
import { pathOfPointer } from '../../base/json-pointer.ts'

/** The offending value; for a missing field and for one that is too much, that field. */
export function pathOfError({ instancePath, params, propertyName }: ErrorObject): Path {
  const path = pathOfPointer(instancePath)
  const field: unknown =
    params.missingProperty ?? params.additionalProperty ?? params.unevaluatedProperty ?? propertyName
  return field === undefined ? path : [...path, String(field)]
}

/** A predicate without its subject, like `must be >= 1` or `is required`. */
export function sentenceOfError({ keyword, params, message }: ErrorObject): string {
  switch (keyword) {
    case 'required':
    case 'dependentRequired':
      return 'is required'
    case 'additionalProperties':
    case 'unevaluatedProperties':
    case 'false schema':
      return 'is not accepted here'
    case 'enum':
      return `must be one of ${(params.allowedValues as readonly unknown[]).map(quoted).join(', ')}`
    case 'const':
      return `must be ${quoted(params.allowedValue)}`
    case 'type':
      return `must be of the type ${[params.type].flat().join(' or ')}`
    case 'pattern':
      return `must match the pattern \`${params.pattern}\``
    case 'format':
      return `must have the format \`${params.format}\``
    case 'uniqueItems':
      return 'must not have the same item twice'
    default:
      return (message ?? `breaks \`${keyword}\``).replace('NOT', 'not')
  }
}

function quoted(value: unknown): string {
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``
}
