/**
 * Counts a request against every matching limit of limits.yaml: by address, and by subject if there is one. Also refuses
 * callers who have filled their share of the log, or leave large answers unread.
 */
import { onceKnown } from '../../base/now-or-later.ts'
import { Problem } from '../../base/problems/problem.ts'
import { monotonicMs } from '../../base/time.ts'
import { callerKey } from '../../decide/caller.ts'
import type { Limit } from '../../decide/policy.ts'
import type { LogShares } from '../../decision-log/log-shares.ts'
import { type Authentication, type Credentials, readCredentials, type TokenVerifier } from '../../identity/caller.ts'
import type { Admission, Limiter, Quota, QuotaState } from '../../limits/limiter.ts'
import { createMemoryLimiter } from '../../limits/memory.ts'
import type { ActivePolicy } from '../../policy/live/active-policy.ts'
import type { Match } from '../../resources/routing/match-route.ts'
import type { ClientAddress } from '../http/client-address.ts'
import type { UnreadAnswers } from '../http/unread-answers.ts'
import type { Addressed, Authenticated, Matched, Received, RequestState, Stage } from './state.ts'

type LimitHeaders = Readonly<Record<string, string>>

/**
 * Finds out the address of a request. If an address is known to be over a limit, its requests are refused before the
 * token is verified.
 */
export function refuseFloods(rateLimiter: RateLimiter, clientAddress: ClientAddress): Stage<Received, Addressed> {
  return (ctx, next) => {
    const { counted: address, whole } = clientAddress(ctx.req)
    ctx.state.address = address
    ctx.state.wholeAddress = whole
    const credentials = readCredentials(ctx.req.rawHeaders)
    ctx.state.credentials = credentials
    rateLimiter.refuseKnownOver(ctx.state.policy, address, credentials)
    return next()
  }
}

/** Counts every request, before any other refusal is answered. */
export function limitRate(
  rateLimiter: RateLimiter,
  logShares: Pick<LogShares, 'waitMs'>,
  unread: Pick<UnreadAnswers, 'refuse'>,
): Stage<Received & Matched & Addressed & Authenticated> {
  return ({ state }, next) =>
    onceKnown(rateLimiter.count(state.policy, state), (headers) => {
      Object.assign(state.headers, headers)
      const holder = holderOf(state)
      const waitMs = logShares.waitMs(holder)
      if (waitMs > 0) throw overShare(waitMs)
      unread.refuse(holder)
      return next()
    })
}

/** The caller that a request and its answer count for. */
export function holderOf({ authentication, address }: Pick<RequestState, 'authentication' | 'address'>): string {
  return callerKey({
    caller: authentication?.kind === 'caller' ? authentication.caller : undefined,
    address: address ?? '',
  })
}

function overShare(waitMs: number): Problem {
  const seconds = Math.ceil(waitMs / 1000)
  const detail = `This caller has filled its share of the decision log; try again in ${seconds} s.`
  return new Problem('quota-exceeded', detail, {
    headers: { 'Retry-After': String(seconds) },
    members: { 'violated-policies': ['decision-log'] },
  })
}

export interface RateLimiter {
  /**
   * Throws quota-exceeded for an address known to be over a limit, so that its token isn't even verified. An address
   * over a limit of bad credentials may still send known credentials, and a few unknown ones.
   */
  refuseKnownOver(policy: ActivePolicy, address: string, credentials: Credentials): void
  /** Throws quota-exceeded, or returns the headers of a limited response. */
  count(policy: ActivePolicy, request: LimitedRequest): LimitHeaders | Promise<LimitHeaders>
}

interface LimitedRequest {
  readonly address: string
  readonly authentication: Authentication
  readonly match: Match
}

/** A refused address: the end of the refusal (milliseconds of `now`), the policy, and the limit. */
interface Over {
  readonly until: number
  readonly revision: string
  readonly limit: Limit
}

/**
 * The number of refused addresses that are remembered. When a flood comes from more, the oldest is forgotten, so memory
 * doesn't grow.
 */
const REMEMBERED = 10_000

/**
 * Several clients may share an address. Over a limit of bad credentials, unknown credentials are still verified, up to
 * the limit divided by this number.
 */
const SPARE = 10

export function createRateLimiter(
  limiter: Limiter,
  verifier: Pick<TokenVerifier, 'knows'>,
  now: () => number = monotonicMs,
): RateLimiter {
  const over = new Map<string, Over>()
  const spare = createMemoryLimiter({ now })

  const mayBeVerified = (credentials: Credentials, address: string, { name, allow, windowMs }: Limit) => {
    if (credentials.kind !== 'bearer') return credentials.kind === 'none'
    if (verifier.knows?.(credentials.token)) return true
    const quota = { name, key: `${name}:${address}`, allow: Math.ceil(allow / SPARE), windowMs }
    return spare.admit([quota]).admitted
  }

  const remember = (address: string, entry: Over) => {
    over.delete(address)
    over.set(address, entry)
    const oldest = over.keys().next().value
    if (over.size > REMEMBERED && oldest !== undefined) over.delete(oldest)
  }

  return {
    refuseKnownOver(policy, address, credentials) {
      const known = over.get(address)
      if (!known) return
      if (known.revision !== policy.revision || known.until <= now()) {
        over.delete(address)
        return
      }
      const { limit } = known
      if (limit.match.credentials === 'rejected' && mayBeVerified(credentials, address, limit)) return
      const resetMs = known.until - now()
      throw refusal([limit], [{ name: limit.name, remaining: 0, resetMs, exceeded: true }], resetMs)
    },

    count(policy, request) {
      const counting: (Quota & { readonly limit: Limit })[] = []
      for (const limit of policy.snapshot.limits.limits) {
        if (!counts(limit, policy, request)) continue
        const { name, allow, windowMs } = limit
        const caller = limit.per === 'address' ? `a:${request.address}` : holderOf(request)
        counting.push({ name, key: `${name}:${caller}`, caller, allow, windowMs, limit })
      }
      if (counting.length === 0) return {}
      return onceKnown(limiter.admit(counting), ({ admitted, quotas: states, retryAfterMs }) => {
        if (admitted) return headersOf(counting, states)
        const barring = counting.find(({ limit }, i) => states[i]?.exceeded && barsAddress(limit))
        if (barring) {
          const { limit } = barring
          remember(request.address, { until: now() + retryAfterMs, revision: policy.revision, limit })
        }
        throw refusal(counting, states, retryAfterMs)
      })
    },
  }
}

/**
 * Whether exceeding this limit blocks every request of the address (for a limit of rejected credentials: every request
 * with unknown ones).
 */
function barsAddress({ per, match }: Limit): boolean {
  const others = match.role ?? match.resource ?? match.action
  return per === 'address' && others === undefined
}

function counts({ match, per }: Limit, policy: ActivePolicy, request: LimitedRequest): boolean {
  const { authentication } = request
  const caller = authentication.kind === 'caller' ? authentication.caller : undefined
  if (per === 'subject' && !caller) return false
  if (match.credentials === 'rejected' && !isUnverified(authentication)) return false
  if (match.role !== undefined && !holdsRole(match.role, policy, authentication)) return false
  if (match.resource === undefined && match.action === undefined) return true
  if (request.match.kind !== 'route') return false
  const { route, endpoint } = request.match
  return (match.resource ?? route.resource) === route.resource && (match.action ?? endpoint.action) === endpoint.action
}

/** Includes faults of a key server, because a token with an invented key causes a request to it. */
function isUnverified(authentication: Authentication): boolean {
  if (authentication.kind === 'failed') return authentication.code !== 'store-unavailable'
  return authentication.kind === 'rejected'
}

function holdsRole(role: string, { snapshot }: ActivePolicy, authentication: Authentication): boolean {
  if (role === 'everyone') return true
  if (authentication.kind === 'caller') return snapshot.subjectOf(authentication.caller).roles.has(role)
  return role === 'anonymous'
}

type CountedQuota = Pick<Quota, 'name' | 'allow' | 'windowMs'>

/** RFC 9110 section 10.2.3 counts whole seconds; rounding up never invites a client too early. */
function refusal(limits: readonly CountedQuota[], quotas: Admission['quotas'], retryAfterMs: number): Problem {
  const violated = quotas.filter(({ exceeded }) => exceeded).map(({ name }) => name)
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000))
  return new Problem('quota-exceeded', `Too many requests; try again in ${seconds} s.`, {
    headers: { ...headersOf(limits, quotas), 'Retry-After': String(seconds) },
    members: { 'violated-policies': violated },
  })
}

/**
 * draft-ietf-httpapi-ratelimit-headers; only this function knows its form. A limiter may count a request a little
 * longer than the window that `w` promises, but `t` is never more than `w`.
 */
function headersOf(limits: readonly CountedQuota[], quotas: readonly QuotaState[]): LimitHeaders {
  const policies: string[] = []
  const states: string[] = []
  for (const [i, { name, allow, windowMs }] of limits.entries()) {
    const state = quotas[i]
    if (!state) continue
    const window = Math.ceil(windowMs / 1000)
    policies.push(`"${name}";q=${allow};w=${window}`)
    states.push(`"${name}";r=${state.remaining};t=${Math.min(Math.ceil(state.resetMs / 1000), window)}`)
  }
  return { 'RateLimit-Policy': policies.join(', '), RateLimit: states.join(', ') }
}
