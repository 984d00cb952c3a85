/** What a guarded route does, for every framework: who asks for what, the decision, and the answer to a refusal. */
import { obligationsOf } from '../answers.ts'
import type { AuthzenClient } from '../client.ts'
import type { Action, Decision, Properties, Resource, Subject } from '../entities.ts'
import { AuthzenError } from '../error.ts'
import { isObject } from '../transport/caller.ts'

type Later<T> = T | Promise<T>

export interface GuardOptions<Request> {
  /** Who asks; undefined or null when nobody is signed in, which is answered with 401. */
  subject(request: Request): Later<Subject | null | undefined>
  /** More to decide by, such as the time or the network. */
  context?(request: Request): Later<Properties | undefined>
  /** A permit with obligations (`context.obligations`) is refused unless this function fulfils them and gives true. */
  fulfil?(obligations: readonly unknown[], request: Request): Later<boolean>
  /** Of denials, for a log. */
  onDenied?(decision: Decision, request: Request): void
  /** Of faults, which are answered with 503. */
  onFault?(error: unknown, request: Request): void
}

/** A type of resource, whose id is the parameter `id` of the route; or a function that names the resource. */
export type ResourceOf<Request> = string | ((request: Request) => Later<Resource>)

export interface Guarded<Request> {
  readonly action: string | Action
  readonly resource: ResourceOf<Request>
  /** The parameters of the route. */
  params(request: Request): unknown
}

/** The answer to a refused request; the route's handler doesn't run. */
export interface Refusal {
  readonly status: 401 | 403 | 503
  readonly headers: Readonly<Record<string, string>>
  /** JSON, `application/problem+json`. It tells strangers no reason. */
  readonly body: string
}

const TITLES = { 401: 'Unauthorized', 403: 'Forbidden', 503: 'Service Unavailable' } as const

/** Never throws: whatever goes wrong is a refusal. */
export async function ask<Request>(
  client: AuthzenClient,
  options: GuardOptions<Request>,
  guarded: Guarded<Request>,
  request: Request,
): Promise<Decision | Refusal> {
  try {
    const subject = await options.subject(request)
    if (subject === undefined || subject === null) return refusal(401, { 'WWW-Authenticate': 'Bearer' })
    const { action } = guarded
    const resource = await resourceOf(guarded, request)
    const context = await options.context?.(request)
    const decision = await client.evaluate({
      subject,
      action: typeof action === 'string' ? { name: action } : action,
      resource,
      context,
    })
    if (decision.decision === true && (await isFulfilled(decision, options, request))) return decision
    options.onDenied?.(decision, request)
    return refusal(403)
  } catch (error) {
    tell(options, error, request)
    return refusal(503, { 'Retry-After': '1' })
  }
}

export function isRefusal(outcome: Decision | Refusal): outcome is Refusal {
  return 'status' in outcome
}

async function resourceOf<Request>({ resource, params }: Guarded<Request>, request: Request): Promise<Resource> {
  if (typeof resource === 'function') return resource(request)
  const all = params(request)
  const id = isObject(all) ? all.id : undefined
  if (typeof id === 'string' && id !== '') return { type: resource, id }
  throw new AuthzenError('not-asked', 'the route has no parameter `id`: name the resource by a function')
}

async function isFulfilled<Request>(
  decision: Decision,
  { fulfil }: GuardOptions<Request>,
  request: Request,
): Promise<boolean> {
  const obligations = obligationsOf(decision)
  if (obligations === undefined) return true
  return Array.isArray(obligations) && (await fulfil?.(obligations, request)) === true
}

function tell<Request>({ onFault }: GuardOptions<Request>, error: unknown, request: Request): void {
  try {
    onFault?.(error, request)
  } catch {
    // The request is refused all the same.
  }
}

function refusal(status: Refusal['status'], headers: Readonly<Record<string, string>> = {}): Refusal {
  return {
    status,
    headers: { 'Content-Type': 'application/problem+json', 'Cache-Control': 'no-store', ...headers },
    body: JSON.stringify({ title: TITLES[status], status }),
  }
}
