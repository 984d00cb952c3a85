/**
 * Shapes of YAML files that the server itself doesn't read; the shapes of the server's own files are compiled at build
 * time (dist/compiled/).
 */
import { Ajv2020, type AnySchemaObject } from 'ajv/dist/2020.js'
import { type Shape, shapeBy } from './yaml-file.ts'

/**
 * Turns a JSON Schema into a check that also narrows the value's type. The schema is shipped, and tests check that it
 * is valid.
 */
export function shapeOf<T>(schema: AnySchemaObject): Shape<T> {
  const ajv = new Ajv2020({
    allErrors: true,
    strict: true,
    allowUnionTypes: true,
    verbose: true,
    validateSchema: false,
  })
  return shapeBy(ajv.compile(schema))
}
