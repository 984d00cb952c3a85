/**
 * The messages between the server and the thread that parses policies. Sending the resources takes a tenth of the time
 * of loading their schemas again.
 */
import type { Diagnostic } from '../../base/diagnostic.ts'
import type { PackedPolicy } from '../../decide/rules/rule-table.ts'
import type { PolicyFiles } from '../../policy/policy-files.ts'
import { builtInBeside } from '../../resources/built-in/resources.ts'
import type { Resource, Resources } from '../../resources/resource.ts'
import { parseSchemaFile, type SourceText } from '../../resources/schema/schema-file.ts'
import { createSchemaCompiler, type SchemaCompiler } from '../../resources/validate/compile-schema.ts'

/** What the thread starts with. */
export interface ParserData {
  /** The server's resources, serialized (node:v8): `PlainResources`. */
  readonly resources: Uint8Array
  /** What the validators are compiled from. */
  readonly schemas: readonly SourceText[]
}

/** The resources of schema files, without their validators, which can't be sent. */
export type PlainResources = readonly Omit<Resource, 'validate'>[]

/** Files to parse, in place of those in force. */
export interface AskedParser {
  readonly files: PolicyFiles
  readonly inForce: PolicyFiles | undefined
}

export type FromParser =
  | { readonly kind: 'policy'; readonly policy: PackedPolicy }
  | { readonly kind: 'faulty'; readonly diagnostics: readonly Diagnostic[]; readonly more: number }

/** What a thread gets. It has the program's own resources itself. */
export function plainResources({ byName }: Resources): PlainResources {
  return [...byName.values()].filter(({ builtIn }) => !builtIn).map(({ validate: _, ...plain }) => plain)
}

/** `schemas` have no faults. A validator is compiled on first use: only constants of relations need one. */
export function restoreResources(plain: PlainResources, schemas: readonly SourceText[]): Resources {
  const compile = compilerOf(schemas)
  const own = plain.map((one): Resource => ({ ...one, validate: (object) => compile(one.name)(object) }))
  const resources = [...own, ...builtInBeside(own)]
  return {
    byName: new Map(resources.map((resource) => [resource.name, resource])),
    routes: resources.flatMap(({ routes }) => routes),
  }
}

function compilerOf(schemas: readonly SourceText[]): (resource: string) => Resource['validate'] {
  const compiler = createSchemaCompiler()
  const compiled = new Map<string, Resource['validate']>()
  return (resource) => {
    const validate = compiled.get(resource) ?? validatorOf(resource, schemas, compiler)
    compiled.set(resource, validate)
    return validate
  }
}

function validatorOf(resource: string, schemas: readonly SourceText[], compiler: SchemaCompiler): Resource['validate'] {
  const parsed = schemas
    .filter(({ isCommand }) => !isCommand)
    .map(parseSchemaFile)
    .find((one) => one.kind === 'file' && one.file.resource === resource)
  if (parsed?.kind !== 'file') throw new Error(`no schema declares ${resource}`)
  compiler.check(parsed.file)
  return compiler.validatorOf(parsed.file)
}
