/** Routes that the program itself answers, and OPTIONS and redirects of every resource's routes. */
import { Problem } from '../../base/problems/problem.ts'
import type { FieldNames, Json, Route } from '../../resources/resource.ts'
import { beforeParameter, withParameter } from '../../resources/routing/path-parameter.ts'
import { redirectStatus, successStatus } from '../../resources/routing/success-status.ts'
import { ACCEPT_PATCH } from '../input/read-body.ts'
import { WrittenJson } from './entity-tag.ts'
import type { HandledRequest, Health, Outcome, Services } from './handler.ts'

/** OPTIONS: the methods that the route accepts, whether or not the caller may use them. */
export function showOptions({ allow, endpoints }: Route): Outcome {
  const patch = endpoints.has('PATCH') ? { 'Accept-Patch': ACCEPT_PATCH } : {}
  return { status: successStatus('options'), headers: { Allow: allow, ...patch }, body: undefined }
}

/** A path that moved permanently or temporarily. */
export function redirect(
  moved: NonNullable<Route['redirect']>,
  { method, path, route, query }: HandledRequest,
): Outcome {
  // The id is copied as sent, with its percent-encoding, so it can't become another path.
  const at = beforeParameter(route.path).split('/').length - 1
  const location = withParameter(moved.to, path.split('/')[at] ?? '')
  const headers = { Location: query === '' ? location : `${location}?${query}` }
  return { status: redirectStatus(moved, method), headers, body: undefined }
}

/** GET /openapi.json: this caller's operations and fields, as an OpenAPI document. */
export async function showDocument({ describe }: Services, { caller, snapshot }: HandledRequest): Promise<Outcome> {
  return { status: 200, headers: {}, body: new WrittenJson(await describe(snapshot, caller)) }
}

export function showKeys({ keySet }: Services): Outcome {
  return { status: 200, headers: {}, body: keySet() }
}

/** GET /livez: the process answers. */
export function showLiveness(fields: FieldNames): Outcome {
  return healthy({ status: 'ok' }, fields)
}

/** GET /readyz: whether the process can do its work, and what is degraded and why. */
export async function showReadiness({ checks }: Services, fields: FieldNames): Promise<Outcome> {
  return healthy(readinessOf(await checks(), fields.has('checks')), fields)
}

/**
 * Throws Problem if a part can't do its work. `detailed`: the problem names the part, for callers who may see the
 * checks.
 */
export function readinessOf(
  found: Readonly<Record<string, Health>>,
  detailed: boolean,
): Readonly<Record<string, Json>> {
  const unavailable = Object.entries(found).find(([, { status }]) => status === 'unavailable')
  if (unavailable) {
    const part = detailed ? `The ${unavailable[0]}` : 'A part of the server'
    throw new Problem('not-ready', `${part} is not available; try again.`, { headers: { 'Retry-After': '5' } })
  }
  const degraded = Object.values(found).some(({ status }) => status === 'degraded')
  const checks = Object.fromEntries(Object.entries(found).map(([name, check]) => [name, { ...check }]))
  return { status: degraded ? 'degraded' : 'ok', checks }
}

/** Shows only the granted fields, as for any resource. */
function healthy(report: Readonly<Record<string, Json>>, fields: FieldNames): Outcome {
  const shown = Object.entries(report).filter(([name]) => fields.has(name))
  return { status: 200, headers: {}, body: Object.fromEntries(shown) }
}
