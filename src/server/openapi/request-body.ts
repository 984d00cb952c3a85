/** The bodies that POST, PUT and PATCH take, cut to the fields that the caller may write. */

import type { RouteMethod } from '../../decide/callers-and-routes.ts'
import { filledFields } from '../../decide/relations/ownership.ts'
import type { Describing } from './parameters.ts'
import type { Part } from './part.ts'

const POINTER: Part = { type: 'string', pattern: '^(/([^~/]|~[01])*)+$' }

/** RFC 6902, with this server's limit (docs/http.md, "PATCH"). */
const JSON_PATCH: Part = {
  description: 'A JSON Patch (RFC 6902), applied completely or not at all.',
  type: 'array',
  maxItems: 1000,
  items: {
    oneOf: [
      operation(['add', 'replace', 'test'], { value: {} }),
      operation(['remove'], {}),
      operation(['move', 'copy'], { from: POINTER }),
    ],
  },
}

/** Undefined for an operation without a body. */
export function requestBodyOf(routeMethod: RouteMethod, describing: Describing): Part | undefined {
  if (routeMethod.route.redirect) return undefined
  switch (routeMethod.endpoint.operation) {
    case 'create':
      return body({ 'application/json': createBody(routeMethod, describing) })
    case 'replace':
      return body({ 'application/json': replaceBody(routeMethod, describing) })
    case 'update':
      return patchBody(routeMethod, describing)
    default:
      return undefined
  }
}

function createBody(routeMethod: RouteMethod, describing: Describing): Part {
  const { takes } = routeMethod.resource
  const { exchange } = routeMethod.route
  if (exchange) return describing.components.addTitled(exchange.takes)
  if (takes) return describing.components.add('schemas', `${describing.schemas.base}Request`, takes)
  const { components, schemas } = describing
  const fields = writable(routeMethod, describing)
  return components.add('schemas', `${schemas.base}New`, schemas.object(fields, demanded(routeMethod, describing)))
}

/** Fields that the caller may not write keep their value, so they aren't required. */
function replaceBody(routeMethod: RouteMethod, describing: Describing): Part {
  const { components, schemas } = describing
  const fields = writable(routeMethod, describing)
  return components.add(
    'schemas',
    `${schemas.base}Replacement`,
    schemas.object(fields, demanded(routeMethod, describing)),
  )
}

function patchBody(routeMethod: RouteMethod, describing: Describing): Part {
  const { components, schemas } = describing
  const merge = components.add('schemas', `${schemas.base}Patch`, schemas.patch(writable(routeMethod, describing)))
  return body({
    'application/merge-patch+json': merge,
    'application/json-patch+json': components.add('schemas', 'JsonPatch', JSON_PATCH),
    'application/json': merge,
  })
}

/** Clients may send the server's own fields unchanged, but don't have to. */
function writable({ resource, endpoint }: RouteMethod, { access }: Describing): ReadonlySet<string> {
  const { some } = access.granted(resource, endpoint.action)
  return new Set([...some].filter((name) => resource.fields.get(name)?.readOnly !== true))
}

/** The server fills some fields on POST and keeps them on PUT; a field with a default gets its default. */
function demanded({ resource }: RouteMethod, { access, schemas }: Describing): ReadonlySet<string> {
  const filled = filledFields(resource, access.snapshot.ownershipOf(resource.name)).map(({ field }) => field.name)
  const given = [...schemas.required].filter(
    (name) => !filled.includes(name) && resource.fields.get(name)?.default === undefined,
  )
  return new Set(given)
}

function body(schemas: Readonly<Record<string, Part>>): Part {
  const content = Object.entries(schemas).map(([type, schema]) => [type, { schema }])
  return { required: true, content: Object.fromEntries(content) }
}

function operation(names: readonly string[], members: Part): Part {
  return {
    type: 'object',
    properties: { op: { type: 'string', enum: [...names] }, path: POINTER, ...members },
    required: ['op', 'path', ...Object.keys(members)],
  }
}
