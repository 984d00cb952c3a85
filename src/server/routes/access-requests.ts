/** GET and POST /access-requests: a caller asks for a role for a time, and sees how its requests stand. */

import { type FieldFault, Problem } from '../../base/problems/problem.ts'
import { durationText, readDuration } from '../../base/time.ts'
import { type AccessGrant, requestText } from '../../policy/published/access-grants.ts'
import { namesText } from '../../present/quote.ts'
import type { Json } from '../../resources/resource.ts'
import type { JsonObject } from '../../resources/schema/schema-file.ts'
import type { AccessRequests } from '../policy-changes/follow-grants.ts'
import type { HandledRequest, Outcome, Services } from './handler.ts'

/** Requests that wait for approvals: of one caller, and of all. */
const MOST_WAITING = { own: 5, all: 1000 } as const
/** Requests of one caller that ended within a day, or have not ended. */
const MOST_OWN = 30

export function showRequests({ requests }: Services, { caller }: HandledRequest): Outcome {
  const own = requests && caller ? requests.of(caller.id) : []
  return answer({ requests: own.filter(({ kind }) => kind === 'request').map(shown) })
}

/** Throws Problem invalid-body, and StoreUnavailable. */
export async function makeRequest(
  { requests }: Services,
  { caller, route, at }: HandledRequest,
  body: JsonObject,
): Promise<Outcome> {
  const faults = route.exchange?.faults?.(body) ?? []
  if (faults.length > 0) refuse(faults)
  const { role, for: time, reason } = body as { role: string; for: string; reason: string }
  if (!requests || !caller) return refuse([notRequestable(role, [])])
  const forMs = readDuration(time) ?? 0
  const number = await requests.add((database) => {
    refuseRole({ role, forMs, to: caller.id }, requests)
    return requestText({
      kind: 'request',
      database,
      role,
      to: caller.id,
      reason,
      time: new Date(at).toISOString(),
      until: new Date(at + forMs).toISOString(),
    })
  })
  const made = requests.of(caller.id).find((one) => one.number === number)
  if (!made) throw new Error(`request ${number} was stored, and can't be read`)
  return answer(shown(made))
}

interface AskedRole {
  readonly role: string
  readonly forMs: number
  readonly to: string
}

function refuseRole({ role, forMs, to }: AskedRole, requests: AccessRequests): void {
  const allowed = requests.approvals?.requests ?? new Map()
  const most = allowed.get(role)?.forMs
  if (most === undefined) refuse([notRequestable(role, [...allowed.keys()])])
  if (forMs > most) refuse([{ pointer: '/for', detail: `must be ${durationText(most)} or less`, code: 'maximum' }])
  const own = requests.of(to)
  const waiting = own.filter(({ state }) => state === 'waiting').length
  const isFull = waiting >= MOST_WAITING.own || requests.waiting >= MOST_WAITING.all || own.length >= MOST_OWN
  if (!isFull) return
  const detail = 'there are too many requests: wait until some are approved, revoked, or have ended for a day'
  refuse([{ pointer: '', detail, code: 'too-many' }])
}

function notRequestable(role: string, roles: readonly string[]): FieldFault {
  const others = roles.length === 0 ? 'no role may be asked for here' : `these may be: ${namesText(roles, ', ')}`
  return { pointer: '/role', detail: `\`${role}\` may not be asked for; ${others}`, code: 'role' }
}

function refuse(errors: readonly FieldFault[]): never {
  throw new Problem('invalid-body', 'The body does not fit the schema; correct the fields in `errors`.', { errors })
}

function shown({ number, role, reason, until, state, missing }: AccessGrant): JsonObject {
  return { number, role, reason, until, state, missing }
}

function answer(body: Json): Outcome {
  return { status: 200, headers: { 'Cache-Control': 'no-store' }, body }
}
