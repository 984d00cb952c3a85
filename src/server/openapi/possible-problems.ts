/** Which problems an operation can answer with (docs/problems.md). The tests' checker compares answers with it. */
import type { ProblemCode } from '../../base/problems/catalogue.ts'
import { concernsObject, type RouteMethod } from '../../decide/callers-and-routes.ts'
import { FILTER_PATH } from '../../resources/built-in/access.ts'
import type { Operation } from '../../resources/resource.ts'
import type { PolicyOrigin } from './parameters.ts'

/** Problems of every operation: HTTP itself, credentials, the policy, and faults of the server. */
const ANYWHERE: readonly ProblemCode[] = [
  'malformed-request',
  'invalid-policy-sequence',
  'credentials-missing',
  'token-invalid',
  'token-expired',
  'forbidden',
  'blocked',
  'request-timeout',
  'url-too-long',
  'expectation-failed',
  'quota-exceeded',
  'headers-too-large',
  'internal-error',
  'key-server-invalid',
  'decision-log-unavailable',
  'key-server-unavailable',
  // The server asks the store about the caller with every request (docs/decisions/0025).
  'store-unavailable',
  'answers-unread',
  // Of lists, and of any operation whose rules climb from object to object.
  'read-too-long',
  'draining',
]

/** Of a server that follows published versions. */
const WITH_VERSIONS: readonly ProblemCode[] = ['policy-behind', 'policy-expired']

/** For operations with a body. */
const WITH_BODY: readonly ProblemCode[] = [
  'invalid-json',
  'invalid-body',
  'body-too-large',
  'object-too-large',
  'unsupported-media-type',
  'field-forbidden',
]

/** For POST /api/tokens. */
const SIGNING_IN: readonly ProblemCode[] = [
  'not-acceptable',
  'invalid-json',
  'invalid-body',
  'body-too-large',
  'unsupported-media-type',
  'sign-in-refused',
  'sign-in-elsewhere',
  'sign-in-delayed',
  'sign-in-busy',
]

/** For the routes of `system/access`. */
const ASKING: readonly ProblemCode[] = [
  'not-acceptable',
  'invalid-json',
  'invalid-body',
  'body-too-large',
  'unsupported-media-type',
]

const CONDITIONAL: readonly ProblemCode[] = ['invalid-precondition', 'precondition-failed']

const IDEMPOTENT: readonly ProblemCode[] = [
  'invalid-idempotency-key',
  'idempotency-in-flight',
  'idempotency-key-reused',
]

const BY_OPERATION: Readonly<Record<Operation, readonly ProblemCode[]>> = {
  list: ['not-acceptable'],
  read: ['not-acceptable', 'object-not-found', ...CONDITIONAL],
  create: ['not-acceptable', ...WITH_BODY, ...CONDITIONAL, ...IDEMPOTENT],
  replace: ['not-acceptable', 'object-not-found', 'content-range', ...WITH_BODY, ...CONDITIONAL, 'write-conflict'],
  update: [
    'not-acceptable',
    'object-not-found',
    ...WITH_BODY,
    'invalid-patch',
    ...CONDITIONAL,
    'write-conflict',
    'patch-test-failed',
    'patch-conflict',
  ],
  delete: ['object-not-found', ...CONDITIONAL, 'write-conflict'],
  options: [],
}

const WRITING: readonly Operation[] = ['create', 'replace', 'update']
const CHANGING: readonly Operation[] = ['replace', 'update', 'delete']

/** Problems that any path can answer with, including a path without a route. */
export const PROBLEMS_OF_ANY_PATH: readonly ProblemCode[] = [
  ...ANYWHERE,
  ...WITH_VERSIONS,
  'invalid-path',
  'route-not-found',
  'method-not-allowed',
]

interface Possible {
  /** Whether the policy can ask the caller to sign in again. */
  readonly stepUp: boolean
  readonly origin: PolicyOrigin
}

export function possibleProblems(routeMethod: RouteMethod, { stepUp, origin }: Possible): readonly ProblemCode[] {
  const { route, endpoint, resource } = routeMethod
  const codes = new Set<ProblemCode>(ANYWHERE)
  const add = (when: boolean, ...more: readonly ProblemCode[]) => {
    for (const code of when ? more : []) codes.add(code)
  }
  const redirects = route.redirect !== undefined && endpoint.operation !== 'options'
  add(route.path.includes('{id}'), 'invalid-path')
  add(!route.redirect && !route.gateway && endpoint.operation !== 'options', 'invalid-query')
  add(concernsObject(routeMethod), ...BY_OPERATION[endpoint.operation])
  add(resource.builtIn && !route.gateway && endpoint.operation === 'read', 'not-acceptable')
  add(resource.takes !== undefined && endpoint.operation === 'create', ...SIGNING_IN)
  add(route.exchange !== undefined && endpoint.operation === 'create', ...ASKING)
  add(route.path === FILTER_PATH && endpoint.operation === 'create', 'filter-unsayable')
  add(route.kind === 'caller' && resource.builtIn && endpoint.operation === 'delete', 'session-not-found')
  add(route.path === '/readyz' && endpoint.operation === 'read', 'not-ready')
  const unique = [...resource.fields.values()].some((field) => field.unique)
  add(concernsObject(routeMethod) && unique && WRITING.includes(endpoint.operation), 'unique-taken')
  add(route.precondition === 'required' && CHANGING.includes(endpoint.operation) && !redirects, 'precondition-required')
  add(route.lifecycle?.sunsetAt !== undefined, 'gone')
  add(origin === 'published', ...WITH_VERSIONS)
  add(stepUp, 'step-up-required')
  return [...codes]
}
