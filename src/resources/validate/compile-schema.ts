/** Schemas -> validators: one Ajv for all resources of a directory, and the faults that it finds in a schema. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { FormatDefinition, FormatValidator } from 'ajv/dist/types/index.js'
import { fullFormats } from 'ajv-formats/dist/formats.js'
import type { Diagnostic } from '../../base/diagnostic.ts'
import { isObject } from '../../base/is-object.ts'
import { type Path, pointerOfPath } from '../../base/json-pointer.ts'
import type { FieldFault } from '../../base/problems/problem.ts'

import { FORMATS } from '../check/keywords.ts'
import type { Resource } from '../resource.ts'
import { OWN_KEYWORDS } from '../schema/own-keywords.ts'
import type { JsonObject, SchemaFile } from '../schema/schema-file.ts'
import { allSubschemas, fieldSchemas } from '../schema/subschemas.ts'
import { faultFinder, fieldFaults, MAX_FAULTS } from './find-faults.ts'
import { multipleOf } from './multiple-of.ts'

export interface SchemaCompiler {
  /**
   * Compiles a schema that has passed all other checks. Its faults are those of Ajv's strict mode, and defaults that
   * don't fit the schema.
   */
  check(file: SchemaFile): readonly Diagnostic[]
  /** The validator of a schema without faults. */
  validatorOf(file: SchemaFile): Resource['validate']
  /** The same for some fields, each checked alone: those that are missing aren't known. */
  attributesValidatorOf(file: SchemaFile): Resource['validate']
}

export function createSchemaCompiler(): SchemaCompiler {
  const ajv = createAjv('all')
  return {
    check: (file) => {
      const json = file.json as JsonObject
      ajv.addSchema(json, keyOf(file))
      const fault = strictFault(ajv, file)
      return fault ? [fault] : defaultFaults(ajv, file, json)
    },
    attributesValidatorOf: (file) => {
      return (attributes) => {
        const faults: FieldFault[] = []
        for (const name of Object.keys(attributes)) {
          faults.push(...attributeFaults(ajv, file, attributes, name))
          if (faults.length >= MAX_FAULTS) break
        }
        return faults
      }
    },
    validatorOf: (file) => {
      const whole = compiled(ajv, file, [])
      return faultFinder((errors) => {
        if (errors === 'all') return whole
        return createAjv('first')
          .addSchema(file.json as JsonObject, keyOf(file))
          .getSchema(keyOf(file)) as ValidateFunction
      })
    },
  }
}

/** The faults of a command's body by its input schema, which has passed all checks. Compiled on first use. */
export function inputFaults(input: JsonObject, body: unknown): readonly FieldFault[] {
  const find = INPUTS.getOrInsertComputed(input, () => faultFinder((errors) => createAjv(errors).compile(input)))
  return find(body)
}

const INPUTS = new WeakMap<JsonObject, ReturnType<typeof faultFinder>>()

function createAjv(errors: 'all' | 'first'): Ajv2020 {
  const ajv = new Ajv2020({
    strict: true,
    // It would refuse a condition like `then: { required: [...] }`; checkFields finds required fields that can't exist.
    strictRequired: false,
    allErrors: errors === 'all',
    // An inherited property is no field of an object.
    ownProperties: true,
    // checkMetaSchema has checked this already, with places.
    validateSchema: false,
    meta: false,
    formats: FORMAT_VALIDATORS,
  })
  ajv.removeKeyword('multipleOf').addKeyword(multipleOf)
  ajv.addVocabulary(Object.keys(OWN_KEYWORDS))
  return ajv
}

/** `name`: a member of `attributes`. */
function attributeFaults(ajv: Ajv2020, file: SchemaFile, attributes: JsonObject, name: string): readonly FieldFault[] {
  if (!Object.hasOwn(fieldSchemas(file.json as JsonObject), name)) {
    return [{ pointer: pointerOfPath([name]), detail: 'is not accepted here', code: 'additionalProperties' }]
  }
  const validate = compiled(ajv, file, ['properties', name])
  if (validate(attributes[name])) return []
  return fieldFaults(validate.errors ?? []).map((fault) => ({
    ...fault,
    pointer: pointerOfPath([name]) + fault.pointer,
  }))
}

let lastDateTime: string | undefined

/**
 * Ajv also accepts `+0100`, and any white space instead of the `T`. RFC 3339 (5.6) doesn't, and lists could not compare
 * such texts.
 */
function isDateTime(text: string): boolean {
  // An object has the time of its creation twice, and so have others of the same millisecond.
  if (text === lastDateTime) return true
  const { validate } = fullFormats['date-time'] as FormatDefinition<string> & { validate: FormatValidator<string> }
  const isOne = /^\S{10}[Tt ][\d:.]+(?:[Zz]|[+-]\d\d:\d\d)$/.test(text) && validate(text)
  if (isOne) lastDateTime = text
  return isOne
}

const FORMAT_VALIDATORS = {
  ...Object.fromEntries(FORMATS.map((name) => [name, fullFormats[name]])),
  'date-time': isDateTime,
} as Readonly<Record<string, RegExp | FormatValidator<string> | { readonly validate: FormatValidator<string> }>>

/** Whether a text has a format of FORMATS. */
export function hasFormat(text: string, format: string): boolean {
  const validator = FORMAT_VALIDATORS[format]
  if (validator instanceof RegExp) return validator.test(text)
  return typeof validator === 'function' ? validator(text) : validator?.validate(text) === true
}

function keyOf({ resource }: SchemaFile): string {
  return `urn:sallyport:schema:${resource}`
}

/**
 * Ajv reports the fault but not its place: the place is the innermost schema that doesn't compile alone. A schema that
 * applies in place takes its type from the schema around it, so it counts as a part of that.
 */
function strictFault(ajv: Ajv2020, file: SchemaFile): Diagnostic | undefined {
  const reason = errorOf(() => compiled(ajv, file, []))
  if (reason === undefined) return undefined
  for (const { path, schema, inPlace } of allSubschemas(file.json as JsonObject).toReversed()) {
    const inner = inPlace ? undefined : errorOf(() => ajv.compile(withoutReferences(schema)))
    if (inner !== undefined) return file.fault(path, 'schema-strict', inner)
  }
  return file.fault([], 'schema-strict', reason)
}

function errorOf(compile: () => ValidateFunction): string | undefined {
  try {
    compile()
    return undefined
  } catch (error) {
    const message = (error as Error).message.replace(/^strict mode: /, '').replace(/ at (?:path )?"[^"]*".*$/, '')
    return message.replaceAll('"', '`')
  }
}

/** Lets a schema compile outside its file. */
function withoutReferences(schema: JsonObject | boolean): JsonObject | boolean {
  return JSON.parse(JSON.stringify(schema, (key, value) => (key === '$ref' ? undefined : value)))
}

function compiled(ajv: Ajv2020, file: SchemaFile, path: Path): ValidateFunction {
  return ajv.getSchema(`${keyOf(file)}#${encodeURI(pointerOfPath(path))}`) as ValidateFunction
}

function defaultFaults(ajv: Ajv2020, file: SchemaFile, json: JsonObject): readonly Diagnostic[] {
  return Object.entries(fieldSchemas(json)).flatMap(([name, schema]) => {
    if (!isObject(schema) || schema.default === undefined) return []
    const path = ['properties', name]
    const validate = compiled(ajv, file, path)
    if (validate(schema.default)) return []
    const [fault] = fieldFaults(validate.errors ?? [])
    const message = `the default ${fault?.pointer ? `\`${fault.pointer}\` ` : ''}${fault?.detail}`
    return [file.fault([...path, 'default'], 'default-misfit', message)]
  })
}
