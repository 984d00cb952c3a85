/** Turns Ajv errors into messages for people, and finds the value that each is about. */
import type { ErrorObject } from 'ajv/dist/2020.js'
import type { Path } from '../../base/json-pointer.ts'
import { pathOfPointer, pointerOfPath } from '../../base/json-pointer.ts'
import type { FieldFault } from '../../base/problems/problem.ts'

/** The faulty value; for a missing or an undeclared field, that field. */
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

/** Ajv's errors about a client's value -> the faults that a problem document lists. */
export const MAX_FAULTS = 100

/** Errors that only repeat another error in the list. */
const ECHOES: ReadonlySet<string> = new Set(['if', 'propertyNames'])

/** Each fault once, in the order found, at most 100. `code` is the schema's keyword. */
export function fieldFaults(errors: readonly ErrorObject[]): readonly FieldFault[] {
  const faults = new Map<string, FieldFault>()
  for (const error of errors) {
    if (faults.size === MAX_FAULTS) break
    if (ECHOES.has(error.keyword)) continue
    const fault = fieldFault(error)
    faults.set(JSON.stringify(fault), fault)
  }
  return Object.freeze([...faults.values()])
}

function fieldFault(error: ErrorObject): FieldFault {
  return Object.freeze({
    pointer: pointerOfPath(pathOfError(error)),
    detail: sentenceOfError(error),
    code: error.keyword.replace(' ', '-'),
  })
}
