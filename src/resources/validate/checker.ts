/** Checks values by a JSON Schema of the program itself. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { FieldFault } from '../../base/problems/problem.ts'
import type { JsonObject } from '../schema/schema-file.ts'
import { fieldFaults } from './ajv-errors.ts'

/** The schema is compiled with the first value: most programs never get one. */
export function checkerOf(schema: JsonObject): (value: unknown) => readonly FieldFault[] {
  let validate: ValidateFunction | undefined
  return (value) => {
    validate ??= new Ajv2020({ allErrors: true, ownProperties: true }).compile(schema)
    return validate(value) ? [] : fieldFaults(validate.errors ?? [])
  }
}
