/** The resources that the program serves itself: health and the OpenAPI document, under the same policy as data. */
import { makeEndpoints } from './make-routes.ts'
import type { Action, Field, Resource, Route } from './resource.ts'
import type { JsonObject } from './schema-file.ts'

const HEALTH = 'system/health'
const OPENAPI = 'system/openapi'

const HEALTH_SCHEMA: JsonObject = {
  title: 'Health',
  description: 'Whether the server can do its work.',
  type: 'object',
  properties: {
    status: { type: 'string', enum: ['ok', 'degraded'] },
    checks: {
      description: 'Each part of the server.',
      type: 'object',
      additionalProperties: {
        type: 'object',
        properties: {
          status: { type: 'string', enum: ['ok', 'degraded', 'unavailable'] },
          detail: { type: 'string' },
        },
        required: ['status'],
        additionalProperties: false,
      },
    },
  },
}

export const BUILT_IN_RESOURCES: readonly Resource[] = Object.freeze([
  builtIn(HEALTH, {
    schema: HEALTH_SCHEMA,
    fields: [statusField('status', 'string'), statusField('checks', 'other')],
    routes: [documentRoute(HEALTH, '/livez'), documentRoute(HEALTH, '/readyz'), anyRoute()],
    actions: [action('read', 'with fields'), action('options', 'whole')],
  }),
  builtIn(OPENAPI, {
    schema: { title: 'Description', description: 'This document: what the caller has.', type: 'object' },
    fields: [],
    routes: [documentRoute(OPENAPI, '/openapi.json')],
    actions: [action('read', 'whole'), action('options', 'whole')],
  }),
])

interface Parts {
  readonly schema: JsonObject
  readonly fields: readonly Field[]
  readonly routes: readonly Route[]
  readonly actions: readonly Action[]
}

function builtIn(name: string, { schema, fields, routes, actions }: Parts): Resource {
  return Object.freeze({
    name,
    builtIn: true,
    schema,
    fields: new Map(fields.map((field) => [field.name, field])),
    routes: Object.freeze(routes),
    actions: new Map(actions.map((one) => [one.name, one])),
    // Nobody writes them.
    validate: () => [],
  })
}

function action(name: string, about: 'with fields' | 'whole'): Action {
  return Object.freeze({ name, hasFields: about === 'with fields' })
}

function statusField(name: string, type: Field['type']): Field {
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

function documentRoute(resource: string, path: string): Route {
  return Object.freeze({
    path,
    resource,
    kind: 'collection',
    ...makeEndpoints(new Map([['GET', 'read']]), (operation) => operation),
  })
}

/** `OPTIONS *` asks about the server as a whole (RFC 9110 section 9.3.7). */
function anyRoute(): Route {
  return Object.freeze({
    path: '*',
    resource: HEALTH,
    kind: 'collection',
    ...makeEndpoints(new Map(), (operation) => operation),
  })
}
