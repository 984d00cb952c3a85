/** Where a schema file says what a change is about. */
import type { Place } from '../../../base/diagnostic.ts'
import { isObject } from '../../../base/is-object.ts'
import type { Path } from '../../../base/json-pointer.ts'
import type { Json } from '../../../resources/resource.ts'
import type { SchemaFile } from '../../../resources/schema/schema-file.ts'
import type { Unplaced } from './schema-change.ts'

/** The nearest part of the file that still exists. */
export function placeOf(file: SchemaFile, { path, route }: Pick<Unplaced, 'path' | 'route'>): Place {
  return file.place(route === undefined ? schemaPath(file, path ?? []) : routePlace(file, route))
}

function routePlace({ json }: SchemaFile, route: string): Path {
  const routes = (json as { 'x-resource': { routes: readonly { path: string }[] } })['x-resource'].routes
  const index = routes.findIndex(({ path }) => path === route)
  return index < 0 ? ['x-resource', 'routes'] : ['x-resource', 'routes', index]
}

/** The way through `properties` and `items`, as far as the schema has them itself. */
function schemaPath({ json }: SchemaFile, path: readonly string[]): Path {
  let [schema, found]: [Json | undefined, Path] = [json, []]
  for (const key of path) {
    const step = stepFrom(schema, key)
    if (step === undefined) return found.length === 0 ? ['properties'] : found
    found = [...found, ...step]
    schema = step.reduce<Json | undefined>((one, part) => (one as Readonly<Record<string, Json>>)[part], schema)
  }
  return found
}

function stepFrom(schema: Json | undefined, key: string): readonly string[] | undefined {
  if (!isObject(schema)) return undefined
  if (isObject(schema.properties) && Object.hasOwn(schema.properties, key)) return ['properties', key]
  return key === '*' && schema.items !== undefined ? ['items'] : undefined
}
