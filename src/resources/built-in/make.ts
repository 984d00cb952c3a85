/** Makes resources that the program serves itself: their routes, actions and fields, and the schemas of their bodies. */
import { makeEndpoints } from '../load/make-routes.ts'
import type { Action, Field, Json, Method, Operation, Resource, Route, RouteExchange } from '../resource.ts'
import type { JsonObject } from '../schema/schema-file.ts'

interface BuiltInParts {
  readonly schema: JsonObject
  readonly fields: readonly Field[]
  readonly routes: readonly Route[]
  readonly actions: readonly Action[]
  /** The schema of the request body, if the route takes one. */
  readonly takes?: { readonly schema: JsonObject; readonly validate: Resource['validate'] }
}

export function builtIn(name: string, { schema, fields, routes, actions, takes }: BuiltInParts): Resource {
  return Object.freeze({
    name,
    builtIn: true,
    schema,
    fields: new Map(fields.map((field) => [field.name, field])),
    routes: Object.freeze(routes),
    actions: new Map(actions.map((one) => [one.name, one])),
    ...(takes && { takes: takes.schema }),
    validate: takes?.validate ?? (() => []),
  })
}

export function action(name: string, about: 'with fields' | 'whole'): Action {
  return Object.freeze({ name, hasFields: about === 'with fields' })
}

export function statusField(name: string, type: Field['type']): Field {
  return Object.freeze({
    name,
    type,
    list: false,
    readOnly: true,
    indexed: false,
    unique: false,
    default: undefined,
  })
}

export function documentRoute(resource: string, path: string): Route {
  return route(resource, path, 'collection', [['GET', 'read']])
}

export function route(
  resource: string,
  path: string,
  kind: Route['kind'],
  operations: readonly (readonly [Method, Operation])[],
  ownAction?: string,
): Route {
  const actionOf = (operation: Operation) => (operation === 'options' ? operation : (ownAction ?? operation))
  return Object.freeze({ path, resource, kind, ...makeEndpoints(new Map(operations), actionOf) })
}

/** A route that takes a question and gives an answer: a POST that changes nothing. */
export function askingRoute(resource: string, path: string, actionName: string, exchange: RouteExchange): Route {
  return Object.freeze({ ...route(resource, path, 'collection', [['POST', 'create']], actionName), exchange })
}

type SchemasByName = Readonly<Record<string, Json>>

/** The schema of an object with these members; others are ignored. */
export function objectOf(required: SchemasByName, optional: SchemasByName = {}): JsonObject {
  const names = Object.keys(required)
  const properties = { ...required, ...optional }
  return { type: 'object', properties, ...(names.length > 0 && { required: names }) }
}

/** The same, without any other member. */
export function closedObjectOf(required: SchemasByName, optional?: SchemasByName): JsonObject {
  return { ...objectOf(required, optional), additionalProperties: false }
}

/** With any other members: without the keyword, generated types would allow none. */
export function openObjectOf(optional: SchemasByName): JsonObject {
  return { ...objectOf({}, optional), additionalProperties: true }
}

export function listOf(items: JsonObject, bounds: JsonObject = {}): JsonObject {
  return { type: 'array', items, ...bounds }
}

export const TEXT: JsonObject = { type: 'string' }
