/** Checks a resource that is kept elsewhere: nothing in its file may need stored objects or routes of the server. */
import type { Diagnostic } from '../../base/diagnostic.ts'
import { isObject } from '../../base/is-object.ts'
import type { Path } from '../../base/json-pointer.ts'
import { BUILT_IN_ACTIONS, declaredActions, declaredRoutes, isExternal } from '../load/make-routes.ts'
import type { JsonObject, SchemaFile } from '../schema/schema-file.ts'
import { fieldSchemas } from '../schema/subschemas.ts'
import { routePath } from './routes.ts'

/** The directory of people is stored here. */
const DIRECTORY = 'users'

const ROUTE_OPTIONS: ReadonlySet<string> = new Set(['path', 'methods', 'action'])

/** Each attribute is checked alone, because others may be unknown. */
const ABOUT_SEVERAL_FIELDS = [
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  'dependentRequired',
  'dependentSchemas',
  'minProperties',
  'maxProperties',
  'propertyNames',
  'unevaluatedProperties',
]

const OF_STORED_FIELDS = ['x-index', 'x-unique', 'x-reference', 'default']

/** `x-resource` must have passed checkXResource. */
export function checkExternal(file: SchemaFile): readonly Diagnostic[] {
  const { json } = file
  if (!isExternal(file)) return actionsWithoutExternal(file)
  if (!isObject(json)) return []
  const directory = file.resource === DIRECTORY ? ['the resource `users` is the directory, which is stored here'] : []
  return [
    ...directory.map((message) => file.faultAtKey(['x-resource', 'external'], 'external', message)),
    ...without(file, json, [], [...ABOUT_SEVERAL_FIELDS, 'x-unique']),
    ...Object.entries(fieldSchemas(json)).flatMap(([name, schema]) =>
      isObject(schema) ? without(file, schema, ['properties', name], OF_STORED_FIELDS) : [],
    ),
    ...declaredRoutes(file).flatMap((route, i) => {
      const others = Object.keys(route).filter((key) => !ROUTE_OPTIONS.has(key))
      return without(file, route as unknown as JsonObject, routePath(i), others)
    }),
    ...builtInActions(file),
  ]
}

function without(file: SchemaFile, schema: JsonObject, at: Path, keywords: readonly string[]): readonly Diagnostic[] {
  return keywords
    .filter((keyword) => Object.hasOwn(schema, keyword))
    .map((keyword) => {
      return file.faultAtKey(
        [...at, keyword],
        'external',
        `\`${keyword}\` has no effect on objects that are kept elsewhere`,
      )
    })
}

function actionsWithoutExternal(file: SchemaFile): readonly Diagnostic[] {
  if (declaredActions(file).length === 0) return []
  const message = '`actions` is for resources that are kept elsewhere; here, a route names its action'
  return [file.faultAtKey(['x-resource', 'actions'], 'external', message)]
}

function builtInActions(file: SchemaFile): readonly Diagnostic[] {
  return declaredActions(file).flatMap((action, i) =>
    BUILT_IN_ACTIONS.some((name) => name === action)
      ? [file.fault(['x-resource', 'actions', i], 'route-action', `\`${action}\` is the name of a built-in action`)]
      : [],
  )
}
