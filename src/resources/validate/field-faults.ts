/** Ajv's errors about a client's value to the faults that a problem document lists. */
import type { ErrorObject } from 'ajv/dist/2020.js'
import { pointerOfPath } from '../../base/json-pointer.ts'
import type { FieldFault } from '../../base/problems/problem.ts'
import { pathOfError, sentenceOfError } from './ajv-errors.ts'

const MAX_FAULTS = 100

/** Errors that only say that another error, which is listed too, counts. */
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
