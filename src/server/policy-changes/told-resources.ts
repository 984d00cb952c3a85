/** The server's resources in a thread, which takes a tenth of the time of reading and checking their schemas again. */

import type { Resource, Resources } from '../../resources/resource.ts'
import { parseSchemaFile, type SourceText } from '../../resources/schema/schema-file.ts'
import { createSchemaCompiler, type SchemaCompiler } from '../../resources/validate/compile-schema.ts'
import type { ToldResources } from './parse-messages.ts'

/** What to tell a thread. */
export function tellResources({ byName }: Resources): ToldResources {
  return [...byName.values()].map(({ validate: _, ...told }) => told)
}

/** Of schemas without faults. A validator is compiled when it is asked first: only constants of relations need any. */
export function toldResources(told: ToldResources, schemas: readonly SourceText[]): Resources {
  const compile = compilerOf(schemas)
  const resources = told.map((one): Resource => ({ ...one, validate: (object) => compile(one.name)(object) }))
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
  const parsed = schemas.map(parseSchemaFile).find((one) => one.kind === 'file' && one.file.resource === resource)
  // A resource of the program's own, whose fields no relation compares.
  if (parsed?.kind !== 'file') return () => []
  compiler.check(parsed.file)
  return compiler.validatorOf(parsed.file)
}
