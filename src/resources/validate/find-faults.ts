/** The faults of a value by a compiled schema: all of a common value, and the first one of a large value. */
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import { type Path, pathOfPointer, pointerOfPath } from '../../base/json-pointer.ts'
import type { FieldFault } from '../../base/problems/problem.ts'
import type { JsonObject } from '../schema/schema-file.ts'

/** With more values in it, a body could have thousands of faults, and finding them all would keep others waiting. */
const MOST_VALUES = 1000

/** `compile`: with all errors, or up to the first one. Either is compiled when it is first needed. */
export function faultFinder(
  compile: (errors: 'all' | 'first') => ValidateFunction,
): (value: unknown) => readonly FieldFault[] {
  let all: ValidateFunction | undefined
  let first: ValidateFunction | undefined
  return (value) => {
    const isLarge = countValues(value) > MOST_VALUES
    if (isLarge) first ??= compile('first')
    else all ??= compile('all')
    const validate = isLarge ? first : all
    return validate?.(value) ? [] : fieldFaults(validate?.errors ?? [])
  }
}

/** How many values are in it, itself included; of a large one, a little more than MOST_VALUES. */
function countValues(value: unknown): number {
  let count = 1
  if (typeof value !== 'object' || value === null) return count
  for (const one of Array.isArray(value) ? value : Object.values(value)) {
    count += countValues(one)
    if (count > MOST_VALUES) break
  }
  return count
}

// Checks values by a JSON Schema of the program itself.

/** The schema is compiled with the first value: most programs never get one. */
export function checkerOf(schema: JsonObject): (value: unknown) => readonly FieldFault[] {
  return faultFinder((errors) => new Ajv2020({ allErrors: errors === 'all', ownProperties: true }).compile(schema))
}

// Turns Ajv errors into messages for people, and finds the value that each is about.

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
