/** One operation of a document: a method of a route, with all its inputs and answers. */

import { CATALOGUE, type ProblemCode } from '../../base/problems/catalogue.ts'
import type { RouteMethod } from '../../decide/callers-and-routes.ts'
import { filledFields } from '../../decide/relations/ownership.ts'
import { echoesRequestId, METADATA_PATH } from '../../resources/built-in/access.ts'
import type { Command, Gateway, Method, Operation, Resources, RouteExchange } from '../../resources/resource.ts'
import { statusForGateway } from '../answers/record.ts'
import { type Part, pascal } from './components.ts'
import { type Headers, headersPart, joinHeaders } from './headers.ts'
import { type Describing, type PolicyOrigin, parametersOf } from './parameters.ts'
import { possibleProblems, problemResponses } from './problem-responses.ts'
import { successResponses } from './success-responses.ts'

/** Every answer names the policy that decided. */
const COMMON: Readonly<Record<PolicyOrigin, Headers>> = {
  folder: { always: ['Policy-Revision'], maybe: [] },
  published: { always: ['Policy-Revision', 'Policy-Sequence'], maybe: [] },
}

const VERBS: Readonly<Record<Operation, string>> = {
  list: 'List',
  read: 'Read',
  create: 'Create',
  replace: 'Replace',
  update: 'Update',
  delete: 'Delete',
  watch: 'Follow the events of',
  options: 'Show the accepted methods of',
}

/** Descriptions of the program's own routes that their methods don't explain. */
const BUILT_IN: ReadonlyMap<string, string> = new Map([
  ['POST /api/tokens', 'Sign in, or refresh the tokens'],
  ['DELETE /api/tokens/current', 'Sign out'],
  ['GET /.well-known/jwks.json', 'Read the public keys that verify tokens'],
  [`GET ${METADATA_PATH}`, 'Find the routes where other services ask this policy'],
])

/** `anonymous`: whether callers without credentials have the operation too. */
export function operationPart(routeMethod: RouteMethod, describing: Describing, anonymous: boolean): Part {
  const { endpoint, resource, method } = routeMethod
  const limits = describing.access.limitsOf(routeMethod)
  const headers = joinHeaders(
    COMMON[describing.origin],
    lifecycleHeaders(routeMethod),
    limitHeaders(limits.length > 0),
    echoHeaders(routeMethod),
  )
  const stepUp = [...describing.access.snapshot.conditions.values()].some(({ kind }) => kind === 'signedIn')
  const { gateway } = routeMethod.route
  const codes = possibleProblems(routeMethod, {
    stepUp,
    origin: describing.origin,
    snapshot: describing.access.snapshot,
    resources: describing.resources,
  })
  if (gateway) return gatewayOperation(routeMethod, gateway, describing, { codes, headers })
  const { command } = routeMethod.route
  const patches = endpoint.operation === 'update' && !command
  const parameters = parametersOf(routeMethod, describing)
  const requestBody = requestBodyOf(routeMethod, describing)
  const description = textOf(routeMethod)
  return {
    summary:
      summaryOf(routeMethod.route.exchange, method) ??
      (method === 'POST' && command ? (command.title ?? `Run \`${command.name}\` on ${resource.name}`) : undefined) ??
      BUILT_IN.get(`${method} ${routeMethod.route.path}`) ??
      `${VERBS[endpoint.operation]} ${resource.name}${method === 'HEAD' ? ', headers only' : ''}`,
    ...(description === '' ? {} : { description }),
    tags: [resource.name],
    ...(isDeprecated(routeMethod) ? { deprecated: true } : {}),
    security: anonymous ? [{}, { bearer: [] }] : [{ bearer: [] }],
    ...(limits.length > 0 ? { 'x-rate-limits': limits.map(({ name }) => name) } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(requestBody === undefined ? {} : { requestBody }),
    responses: {
      ...successResponses(routeMethod, describing, headers),
      ...problemResponses(describing.components, {
        codes,
        operation: pascal(command ? endpoint.action : endpoint.operation),
        patches,
        headers,
      }),
    },
  }
}

/**
 * `GET /api/orders/{id}` is `getApiOrdersId`. Paths that differ only in punctuation get different numbers. The numbers
 * also count routes that the document leaves out, so an operation has the same name for every caller.
 */
export function operationIds({ routes }: Resources): (routeMethod: Pick<RouteMethod, 'route' | 'method'>) => string {
  const byName = Map.groupBy(routes, ({ path }) => pascal(path))
  return ({ route, method }) => {
    const name = pascal(route.path)
    const place = byName.get(name)?.indexOf(route) ?? 0
    return method.toLowerCase() + name + (place > 0 ? `_${place + 1}` : '')
  }
}

function textOf({ route, endpoint }: RouteMethod): string {
  const { lifecycle, redirect, command } = route
  const day = (instant: number) => new Date(instant).toISOString().slice(0, 10)
  return [
    (endpoint.operation === 'options' ? undefined : command?.description) ?? '',
    endpoint.action === endpoint.operation ? '' : `Policy rules call this action \`${endpoint.action}\`.`,
    redirect && endpoint.operation !== 'options' ? `Redirects to \`${redirect.to}\`.` : '',
    lifecycle?.deprecatedAt === undefined ? '' : `Deprecated since ${day(lifecycle.deprecatedAt)}.`,
    lifecycle?.sunsetAt === undefined ? '' : `Answers 410 from ${day(lifecycle.sunsetAt)} on.`,
    lifecycle?.successor === undefined ? '' : `Use \`${lifecycle.successor}\` instead.`,
  ]
    .filter((sentence) => sentence !== '')
    .join(' ')
}

/**
 * The document doesn't depend on the time: a route with a deprecation date counts as deprecated, even before that date.
 */
function isDeprecated({ route: { lifecycle } }: RouteMethod): boolean {
  return lifecycle?.deprecatedAt !== undefined || lifecycle?.sunsetAt !== undefined
}

function lifecycleHeaders({ route: { lifecycle } }: RouteMethod): Headers {
  return {
    always: [
      ...(lifecycle?.deprecatedAt === undefined ? [] : (['Deprecation'] as const)),
      ...(lifecycle?.sunsetAt === undefined ? [] : (['Sunset'] as const)),
      ...(lifecycle?.successor === undefined ? [] : (['Link'] as const)),
    ],
    maybe: [],
  }
}

/** Of a request that had one. */
function echoHeaders({ route }: RouteMethod): Headers {
  return { always: [], maybe: echoesRequestId(route.path) ? ['X-Request-ID'] : [] }
}

/** A limit may apply to some callers only. */
function limitHeaders(limited: boolean): Headers {
  return { always: [], maybe: limited ? ['RateLimit', 'RateLimit-Policy'] : [] }
}

const IDENTITY: Headers['always'] = [
  'X-Sallyport-Problem',
  'X-Sallyport-Request',
  'X-Sallyport-Revision',
  'X-Sallyport-Roles',
  'X-Sallyport-Subject',
]

/** Beyond those of every operation; the application's own routes have the rest. */
const FORWARDING: readonly ProblemCode[] = [
  'invalid-forward',
  'gateway-refused',
  'invalid-path',
  'route-not-found',
  'method-not-allowed',
  'gone',
]

/** What the client's request can bring, also under a status that the gateway knows in place of its own. */
const REFUSED: Headers = { always: [], maybe: [...IDENTITY, 'Allow', 'Retry-After'] }

/** Whatever limit there is may count the client's request. */
const LIMITED: Headers = { always: [], maybe: ['RateLimit', 'RateLimit-Policy'] }

/** `codes` and `headers`: of every operation. */
function gatewayOperation(
  { method, resource }: RouteMethod,
  gateway: Gateway,
  { access, components }: Describing,
  { codes, headers }: { readonly codes: readonly ProblemCode[]; readonly headers: Headers },
): Part {
  const limited = access.snapshot.limits.limits.length > 0
  const every = limited ? joinHeaders(headers, LIMITED) : headers
  const passed = joinHeaders(every, { always: IDENTITY, maybe: [] })
  return {
    summary: `Ask for a client of ${gateway.name}${method === 'HEAD' ? ', headers only' : ''}`,
    description:
      "Decides the gateway's client's request at the role level. Every other method of the gateway's own request has the same answers.",
    tags: [resource.name],
    // Of the client; the gateway's own is X-Sallyport-Key.
    security: [{}, { bearer: [] }],
    parameters: gatewayParameters(gateway),
    responses: {
      204: { description: 'The gateway may let the request pass.', headers: headersPart(components, passed) },
      ...problemResponses(components, {
        codes: [...new Set([...codes, ...FORWARDING])],
        operation: pascal(gateway.name),
        patches: false,
        headers: joinHeaders(every, REFUSED),
        statusOf: (code) => statusForGateway(gateway, CATALOGUE[code].status),
      }),
    },
  }
}

function gatewayParameters({ headers }: Gateway): readonly Part[] {
  const header = (name: string, required: boolean, description: string): Part => ({
    name,
    in: 'header',
    description,
    required,
    schema: { type: 'string' },
  })
  return [
    header(headers.method, true, "The method of the client's request."),
    header(headers.uri, true, "The path and query of the client's request, as it was sent."),
    header('X-Sallyport-Key', false, "The gateway's API key. Without it, the address of its socket must prove it."),
  ]
}

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
function requestBodyOf(routeMethod: RouteMethod, describing: Describing): Part | undefined {
  const { redirect, command } = routeMethod.route
  if (redirect) return undefined
  if (command && routeMethod.endpoint.operation === 'update') {
    return command.input && { ...body({ 'application/json': command.input }), required: isNeeded(command.input) }
  }
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

function isNeeded({ required }: NonNullable<Command['input']>): boolean {
  return Array.isArray(required) && required.length > 0
}

function summaryOf(exchange: RouteExchange | undefined, method: Method): string | undefined {
  if (!exchange) return undefined
  if (method === 'POST') return exchange.summary
  if (exchange.takes || method === 'OPTIONS') return undefined
  return method === 'HEAD' ? `${exchange.summary}, headers only` : exchange.summary
}

function createBody(routeMethod: RouteMethod, describing: Describing): Part {
  const { takes } = routeMethod.resource
  const { exchange } = routeMethod.route
  if (exchange?.takes) return describing.components.addTitled(exchange.takes)
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

/** The server fills some fields on POST, also by the path, and keeps them on PUT; a field with a default gets its default. */
function demanded({ resource, route }: RouteMethod, { access, schemas }: Describing): ReadonlySet<string> {
  const filled = filledFields(resource, access.snapshot.ownershipOf(resource.name)).map(({ field }) => field.name)
  const given = [...schemas.required].filter(
    (name) =>
      name !== route.parent?.field && !filled.includes(name) && resource.fields.get(name)?.default === undefined,
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
