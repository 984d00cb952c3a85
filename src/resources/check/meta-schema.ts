/** Checks that a file is a JSON Schema 2020-12, and that its `x-resource` has the grammar of routes. */
import type { ErrorObject } from 'ajv'
import { fitsMetaSchema } from '#compiled/meta-schema'
import { fitsCommand, fitsXResource } from '#compiled/x-resource'
import type { Diagnostic } from '../../base/diagnostic.ts'
import { didYouMean } from '../../base/did-you-mean.ts'
import { isObject } from '../../base/is-object.ts'
import { type Path, pointerOfPath } from '../../base/json-pointer.ts'
import { knownKeys, reportable } from '../../base/problems/shape-faults.ts'
import { missingDay } from '../../base/time.ts'
import type { JsonObject, SchemaFile } from '../schema/schema-file.ts'
import { pathOfError, sentenceOfError } from '../validate/find-faults.ts'
import type { SchemaCode } from './codes.ts'

const DIALECT = 'https://json-schema.org/draft/2020-12/schema'

export function checkMetaSchema(file: SchemaFile): readonly Diagnostic[] {
  const { json } = file
  const dialect = isObject(json) ? json.$schema : undefined
  if (dialect !== undefined && dialect !== DIALECT) {
    return [file.fault(['$schema'], 'schema-dialect', 'this is not the JSON Schema 2020-12 dialect')]
  }
  if (typeof json === 'boolean') return [file.fault([], 'schema-invalid', 'the schema of a resource must be an object')]
  fitsMetaSchema(json)
  return errorFaults(file, [], fitsMetaSchema.errors, 'schema-invalid')
}

export function checkXResource(file: SchemaFile): readonly Diagnostic[] {
  const declared = isObject(file.json) ? file.json['x-resource'] : undefined
  if (declared === undefined) return [file.fault([], 'resource-missing', '`x-resource` is missing')]
  if (fitsXResource(declared)) return isObject(declared) && hasRoutes(declared) ? [] : [routesMissing(file)]
  return errorFaults(file, ['x-resource'], fitsXResource.errors, 'resource-invalid')
}

/** The grammar of a command's file. */
export function checkCommand(file: SchemaFile): readonly Diagnostic[] {
  return fitsCommand(file.json) ? [] : errorFaults(file, [], fitsCommand.errors, 'command-invalid')
}

/** Only a resource that is kept elsewhere can do without routes. */
function hasRoutes({ routes, external }: JsonObject): boolean {
  return routes !== undefined || external === true
}

function routesMissing(file: SchemaFile): Diagnostic {
  return file.fault(['x-resource'], 'resource-invalid', '`x-resource` lacks `routes`')
}

/** One diagnostic for each value: the first error about it. */
function errorFaults(
  file: SchemaFile,
  base: Path,
  errors: readonly ErrorObject[] | null | undefined,
  code: SchemaCode,
): readonly Diagnostic[] {
  const byValue = Map.groupBy(reportable(errors ?? []), (error) => pointerOfPath(pathOfError(error)))
  return [...byValue.values()].flatMap(([error]) => (error ? [errorFault(file, base, error, code)] : []))
}

function errorFault(file: SchemaFile, base: Path, error: ErrorObject, code: SchemaCode): Diagnostic {
  const path = [...base, ...pathOfError(error)]
  const message = `${subject(file, path)} ${sentenceOf(error)}`
  return error.keyword === 'additionalProperties'
    ? file.faultAtKey(path, code, message + didYouMean(String(path.at(-1)), knownKeys(error)))
    : file.fault(path, code, message)
}

/** Nobody reads a regular expression in a message, or the name of a format. */
function sentenceOf(error: ErrorObject): string {
  const { keyword, parentSchema, data } = error
  const title = parentSchema?.title
  if (keyword === 'pattern') return `must be ${title ?? 'what JSON Schema 2020-12 lets it be'}`
  if (keyword !== 'format' || title === undefined) return sentenceOfError(error)
  const missing = typeof data === 'string' ? missingDay(data) : undefined
  return `must be ${title}${missing === undefined ? '' : `: ${missing}`}`
}

function subject({ resource }: SchemaFile, path: Path): string {
  const last = path.at(-1) ?? resource
  return /^\d+$/.test(String(last)) ? `an element of \`${path.at(-2)}\`` : `\`${last}\``
}
