/** Makes resources that the program serves itself: their routes, actions and fields. */
import { makeEndpoints } from '../load/make-routes.ts'
import type { Action, Field, Method, Operation, Resource, Route, RouteExchange } from '../resource.ts'
import type { JsonObject } from '../schema/schema-file.ts'

interface Parts {
  readonly schema: JsonObject
  readonly fields: readonly Field[]
  readonly routes: readonly Route[]
  readonly actions: readonly Action[]
  /** The schema of the request body, if the route takes one. */
  readonly takes?: { readonly schema: JsonObject; readonly validate: Resource['validate'] }
}

export function builtIn(name: string, { schema, fields, routes, actions, takes }: Parts): Resource {
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
