/** One operation of a document: a method of a route, with all its inputs and answers. */
import type { RouteMethod } from '../../decide/callers-and-routes.ts'
import { echoesRequestId, METADATA_PATH } from '../../resources/built-in/access.ts'
import type { Operation, Resources } from '../../resources/resource.ts'
import { gatewayOperation } from './gateway-operation.ts'
import { type Headers, joinHeaders } from './headers.ts'
import { type Describing, type PolicyOrigin, parametersOf } from './parameters.ts'
import { type Part, pascal } from './part.ts'
import { possibleProblems } from './possible-problems.ts'
import { problemResponses } from './problem-responses.ts'
import { requestBodyOf } from './request-body.ts'
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
  const codes = possibleProblems(routeMethod, { stepUp, origin: describing.origin })
  if (gateway) return gatewayOperation(routeMethod, gateway, describing, { codes, headers })
  const patches = endpoint.operation === 'update'
  const parameters = parametersOf(routeMethod, describing)
  const requestBody = requestBodyOf(routeMethod, describing)
  const description = textOf(routeMethod)
  return {
    summary:
      (method === 'POST' ? routeMethod.route.exchange?.summary : undefined) ??
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
      ...problemResponses(describing.components, { codes, operation: pascal(endpoint.operation), patches, headers }),
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
  const { lifecycle, redirect } = route
  const day = (instant: number) => new Date(instant).toISOString().slice(0, 10)
  return [
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
