/** Checks values by a JSON Schema of the program itself. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { FieldFault } from '../../base/problems/problem.ts'
import type { JsonObject } from '../schema/schema-file.ts'
import { faultFinder } from './find-faults.ts'

/** The schema is compiled with the first value: most programs never get one. */
export function checkerOf(schema: JsonObject): (value: unknown) => readonly FieldFault[] {
  return faultFinder((errors) => new Ajv2020({ allErrors: errors === 'all', ownProperties: true }).compile(schema))
}
