/** Problem documents (RFC 9457) as responses: one for each status, with its possible codes. */
import { STATUS_CODES } from 'node:http'
import { CATALOGUE, type ProblemCode } from '../../base/problems/catalogue.ts'
import { concernsObject, type RouteMethod, routeMethodsOf } from '../../decide/callers-and-routes.ts'
import { USERS } from '../../decide/policy.ts'
import type { Snapshot } from '../../decide/snapshot.ts'
import { FILTER_PATH } from '../../resources/built-in/access.ts'
import { BATCHES } from '../../resources/built-in/batch.ts'
import { POLICY_PATH } from '../../resources/built-in/policy-questions.ts'
import { referringTo } from '../../resources/references.ts'
import type { Operation, Resource, Resources } from '../../resources/resource.ts'
import { parameterOf } from '../../resources/routing/path-parameter.ts'
import { type Components, type Part, pascal } from './components.ts'
import { type HeaderName, type Headers, headersPart, joinHeaders } from './headers.ts'
import type { PolicyOrigin } from './parameters.ts'

const PROBLEM: Part = {
  description: 'A problem document (RFC 9457). `code` is stable, so programs can rely on it.',
  type: 'object',
  properties: {
    type: { type: 'string', format: 'uri' },
    title: { type: 'string' },
    status: { type: 'integer', minimum: 400, maximum: 599 },
    detail: { description: 'A sentence for people; its text may change.', type: 'string' },
    instance: { description: "The request id, which is also in the server's log.", type: 'string', format: 'uri' },
    traceId: {
      description: 'The trace that the request is in, where the server sends traces.',
      type: 'string',
      pattern: '^[0-9a-f]{32}$',
    },
    code: { type: 'string', enum: Object.keys(CATALOGUE) },
    errors: {
      description: 'All faulty fields, named by JSON Pointers (RFC 6901).',
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        properties: { pointer: { type: 'string' }, detail: { type: 'string' }, code: { type: 'string' } },
        required: ['pointer', 'detail', 'code'],
        additionalProperties: false,
      },
    },
    'violated-policies': { description: 'The exceeded limits.', type: 'array', items: { type: 'string' } },
    responses: {
      description: 'Of an atomic batch: the answers to its requests, in their order.',
      type: 'array',
      items: { type: 'object', additionalProperties: true },
    },
  },
  required: ['type', 'title', 'status', 'detail', 'instance', 'code'],
}

const HEADERS: Readonly<Record<number, Headers>> = {
  401: { always: ['WWW-Authenticate'], maybe: [] },
  409: { always: [], maybe: ['Retry-After'] },
  429: { always: ['Retry-After'], maybe: [] },
  503: { always: ['Retry-After'], maybe: [] },
}

/** Node has the phrases of older RFCs for two of them. */
const PHRASES: Readonly<Record<number, string | undefined>> = {
  ...STATUS_CODES,
  413: 'Content Too Large',
  422: 'Unprocessable Content',
}

interface ProblemAnswers {
  readonly codes: readonly ProblemCode[]
  /** For example `Update`: separates the operation's answers from answers with other codes of the same status. */
  readonly operation: string
  readonly patches: boolean
  /** Headers of every answer of the route. */
  readonly headers: Headers
  /** The status of the answer, where it isn't the problem's own. */
  readonly statusOf?: (code: ProblemCode) => number
}

/** By status, as `responses` of an operation has them. */
export function problemResponses(components: Components, answers: ProblemAnswers): Part {
  const { codes, headers, operation, patches, statusOf = (code) => CATALOGUE[code].status } = answers
  const byStatus = Map.groupBy(codes, statusOf)
  const entries = [...byStatus].map(([status, those]) => {
    const sorted = those.toSorted()
    const all = joinHeaders(headersOf(status, those, patches), headers)
    const name = nameOf(status, sorted, operation)
    const key = JSON.stringify([name, status, sorted, all])
    const make = () => response(components, status, sorted, all)
    return [status, components.addOnce('responses', { name, key, make })]
  })
  return Object.fromEntries(entries)
}

/** RFC 9110 section 15.5.16: a 415 answer names the media types that the server accepts. */
function headersOf(status: number, codes: readonly ProblemCode[], patches: boolean): Headers {
  // This answer may lack the headers of rate limits, so only `Retry-After` is certain.
  if (codes.includes('sign-in-delayed')) return { always: ['Retry-After'], maybe: [] }
  if (status !== 415) return HEADERS[status] ?? { always: [], maybe: [] }
  const media: HeaderName = patches ? 'Accept-Patch' : 'Accept'
  return { always: ['Accept-Encoding', media], maybe: [] }
}

function nameOf(status: number, codes: readonly ProblemCode[], operation: string): string {
  const [only, ...others] = codes
  const phrase = pascal(PHRASES[status] ?? String(status))
  return only && others.length === 0 ? pascal(only) : `${phrase}On${operation}`
}

function response(components: Components, status: number, codes: readonly ProblemCode[], headers: Headers): Part {
  const problem = components.add('schemas', 'Problem', PROBLEM)
  const narrowed = { properties: { status: { const: status }, code: { enum: [...codes] } } }
  return {
    description: codes.map((code) => `\`${code}\`: ${CATALOGUE[code].title}.`).join('\n\n'),
    headers: headersPart(components, headers),
    content: { 'application/problem+json': { schema: { allOf: [problem, narrowed] } } },
  }
}

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

/** For the routes of `system/access`. */
const ASKING: readonly ProblemCode[] = [
  'not-acceptable',
  'invalid-json',
  'invalid-body',
  'body-too-large',
  'unsupported-media-type',
]

/** For POST /batch, and for the requests in it. */
const SENDING: readonly ProblemCode[] = ['failed-dependency', 'batch-ended']

/** For POST /api/tokens. */
const SIGNING_IN: readonly ProblemCode[] = [
  ...ASKING,
  'sign-in-refused',
  'sign-in-elsewhere',
  'sign-in-delayed',
  'sign-in-busy',
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
  watch: ['not-acceptable', 'quota-exceeded'],
  options: [],
}

const BY_COMMAND: readonly ProblemCode[] = [
  'not-acceptable',
  'object-not-found',
  ...WITH_BODY,
  ...CONDITIONAL,
  ...IDEMPOTENT,
  'write-conflict',
  'command-state',
]

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
  readonly snapshot: Pick<Snapshot, 'roleGuarantees'>
  readonly resources: Resources
}

export function possibleProblems(routeMethod: RouteMethod, possible: Possible): readonly ProblemCode[] {
  const { stepUp, origin, snapshot, resources } = possible
  const { route, endpoint, resource } = routeMethod
  const codes = new Set<ProblemCode>(ANYWHERE)
  const add = (when: boolean, ...more: readonly ProblemCode[]) => {
    for (const code of when ? more : []) codes.add(code)
  }
  const redirects = route.redirect !== undefined && endpoint.operation !== 'options'
  add(parameterOf(route.path) !== undefined, 'invalid-path')
  add(route.history !== undefined && endpoint.operation === 'read', 'version-not-found')
  add(route.parent !== undefined && concernsObject(routeMethod), 'object-not-found')
  add(!route.redirect && !route.gateway && endpoint.operation !== 'options', 'invalid-query')
  add(concernsObject(routeMethod), ...problemsOfOperation(routeMethod))
  add(resource.builtIn && !route.gateway && endpoint.operation === 'read', 'not-acceptable')
  add(resource.takes !== undefined && endpoint.operation === 'create', ...SIGNING_IN)
  add(route.exchange !== undefined && endpoint.operation === 'create', ...ASKING)
  if (route.resource === BATCHES && endpoint.operation === 'create') add(true, ...problemsOfBatches(possible))
  add(route.path.startsWith(POLICY_PATH) && endpoint.operation !== 'options', 'question-refused')
  add(route.path === FILTER_PATH && endpoint.operation === 'create', 'filter-unsayable')
  add(route.kind === 'caller' && resource.builtIn && endpoint.operation === 'delete', 'session-not-found')
  add(route.path === '/readyz' && endpoint.operation === 'read', 'not-ready')
  if (concernsObject(routeMethod)) add(true, ...problemsOfWrites(routeMethod, { snapshot, resources }))
  add(route.precondition === 'required' && CHANGING.includes(endpoint.operation) && !redirects, 'precondition-required')
  add(route.lifecycle?.sunsetAt !== undefined, 'gone')
  add(origin === 'published', ...WITH_VERSIONS)
  add(stepUp, 'step-up-required')
  return [...codes]
}

function problemsOfOperation({ route: { command }, endpoint: { operation } }: RouteMethod): readonly ProblemCode[] {
  return command && operation === 'update' ? BY_COMMAND : BY_OPERATION[operation]
}

/** An atomic batch has the problem of its request that failed, on whichever route. */
function problemsOfBatches(possible: Possible): readonly ProblemCode[] {
  const parts = routeMethodsOf(possible.resources).filter(({ resource }) => !resource.builtIn)
  return [
    ...SENDING,
    ...IDEMPOTENT,
    'invalid-path',
    'route-not-found',
    'method-not-allowed',
    ...parts.flatMap((part) => possibleProblems(part, possible)),
  ]
}

/** What else keeps an object, and those that a command creates, from being written. */
function problemsOfWrites(
  { route: { command }, endpoint: { operation }, resource }: RouteMethod,
  possible: Pick<Possible, 'snapshot' | 'resources'>,
): readonly ProblemCode[] {
  const steps = operation === 'update' ? (command?.creates ?? []) : []
  const created = steps.flatMap((step) => possible.resources.byName.get(step.resource) ?? [])
  return [
    ...problemsOfWrite(operation, resource, possible),
    ...created.flatMap((one) => problemsOfWrite('create', one, possible)),
  ]
}

function problemsOfWrite(
  operation: Operation,
  resource: Resource,
  { snapshot, resources }: Pick<Possible, 'snapshot' | 'resources'>,
): readonly ProblemCode[] {
  if (operation === 'delete') return referringTo(resources, resource.name).length > 0 ? ['referenced'] : []
  if (!WRITING.includes(operation)) return []
  const { apart, atMost } = snapshot.roleGuarantees
  const gives = resource.name === USERS && resource.fields.has('roles')
  const isUnique = resource.uniqueTogether !== undefined || [...resource.fields.values()].some(({ unique }) => unique)
  return [
    ...(isUnique ? (['unique-taken'] as const) : []),
    ...(resource.references !== undefined ? (['reference-missing'] as const) : []),
    ...(gives && apart.length > 0 ? (['roles-apart'] as const) : []),
    ...(gives && atMost.length > 0 ? (['too-many-with-role'] as const) : []),
  ]
}
