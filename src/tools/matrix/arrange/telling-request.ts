/** Finds a request that meets a condition in one of two meanings only. */
import ipaddr from 'ipaddr.js'
import { conditionHolds, type RequestCondition } from '../../../decide/request-conditions/all-conditions.ts'
import type { ConditionFacts } from '../../../decide/request-conditions/condition-kind.ts'
import type { SignedIn } from '../../../decide/request-conditions/signed-in.ts'

const HALF_HOUR_MS = 30 * 60 * 1000
/** Two weeks in half hours, now and half a year later: the clocks of two zones may agree for a part of the year. */
const TIMES = 14 * 48
const HALF_YEAR_MS = 26 * 7 * 24 * 60 * 60 * 1000

/** Undefined if none was found: both meanings may be the same. */
export function requestTelling(
  pair: readonly [RequestCondition, RequestCondition],
  now: number,
): ConditionFacts | undefined {
  const [one, other] = pair
  return requestsAround(pair, now).find((facts) => conditionHolds(one, facts) !== conditionHolds(other, facts))
}

/** Requests at the bounds of both conditions, and just outside of them. */
function requestsAround(pair: readonly RequestCondition[], now: number): readonly ConditionFacts[] {
  const known = { now, hasCredentials: true }
  return pair.flatMap((condition) => factsAround(condition, now)).map((facts) => ({ ...known, ...facts }))
}

function factsAround(condition: RequestCondition, now: number): readonly Partial<ConditionFacts>[] {
  switch (condition.kind) {
    case 'network':
      return condition.networks.flatMap(endsOf).map((address) => ({ address }))
    case 'hours':
      return [now, now + HALF_YEAR_MS].flatMap((from) =>
        Array.from({ length: TIMES }, (_, i) => ({ now: from + i * HALF_HOUR_MS })),
      )
    case 'credential':
      return condition.credentials.map((credential) => ({ credential }))
    case 'signedIn':
      return signInsAround(condition, now)
    case 'told':
      return []
  }
}

/** The first and the last address. */
function endsOf(network: string): readonly string[] {
  const { IPv4, IPv6 } = ipaddr
  const kind = ipaddr.parseCIDR(network)[0].kind() === 'ipv4' ? IPv4 : IPv6
  return [kind.networkAddressFromCIDR(network), kind.broadcastAddressFromCIDR(network)].map(String)
}

function signInsAround({ withinMs, acr = [] }: SignedIn, now: number): readonly Partial<ConditionFacts>[] {
  const ages = withinMs === undefined ? [0] : [0, withinMs, withinMs + 1]
  const classes = [{}, ...acr.map((one) => ({ acr: one }))]
  return ages.flatMap((age) => classes.map((one) => ({ authTime: now - age, ...one })))
}
