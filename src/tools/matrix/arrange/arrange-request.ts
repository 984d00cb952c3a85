/**
 * Finds a request by its time, address and sign-in: one that meets exactly the wanted conditions, or a condition in one of
 * two meanings only. And the conditions that rules about an endpoint name.
 */
import ipaddr from 'ipaddr.js'
import { namedConditions } from '../../../analysis/possible-sets.ts'
import type { Policy } from '../../../decide/policy.ts'
import { conditionHolds, type RequestCondition } from '../../../decide/request-conditions/all-conditions.ts'
import type { ConditionFacts } from '../../../decide/request-conditions/condition-kind.ts'
import type { SignedIn } from '../../../decide/request-conditions/signed-in.ts'
import type { Action, Endpoint, Resource } from '../../../resources/resource.ts'

/** An address of no network that policies name: RFC 5737 keeps it for documentation. */
const ELSEWHERE = '203.0.113.254'

const HALF_HOUR_MS = 30 * 60 * 1000
/** Two weeks in half hours. */
const TIMES = 14 * 48

/**
 * `conditions`: those that count. Undefined if no request was found. The address, the credential, the sign-in and the
 * time are found one after the other: each condition looks at one of them.
 */
export function arrangeRequest(
  conditions: readonly RequestCondition[],
  wanted: ReadonlySet<string>,
  { now, hasCredentials }: Pick<ConditionFacts, 'now' | 'hasCredentials'>,
): ConditionFacts | undefined {
  const known: ConditionFacts = { now, hasCredentials }
  const axes: readonly (readonly Partial<ConditionFacts>[])[] = [
    timesFrom(now).map((at) => ({ now: at })),
    [{}, ...addressesIn(conditions).map((address) => ({ address }))],
    hasCredentials ? CREDENTIALS.map((credential) => ({ credential })) : [{}],
  ]
  const kinds = [['hours'], ['network'], ['credential']]
  const facts = axes.reduce<ConditionFacts | undefined>(
    (found, tried, i) => found && fitting(conditions, wanted, found, { tried, kinds: kinds[i] ?? [] }),
    known,
  )
  if (!facts) return undefined
  // An API key proves no sign-in.
  const canSignIn = hasCredentials && facts.credential !== 'api-key'
  const signIns = canSignIn ? signInsFor(conditions, facts.now) : [{}]
  return fitting(conditions, wanted, facts, { tried: signIns, kinds: ['signedIn'] })
}

const CREDENTIALS = ['password', 'provider', 'api-key'] as const

/** The facts with the first of these further facts with which the conditions of these kinds are as wanted. */
function fitting(
  conditions: readonly RequestCondition[],
  wanted: ReadonlySet<string>,
  facts: ConditionFacts,
  { tried, kinds }: { readonly tried: readonly Partial<ConditionFacts>[]; readonly kinds: readonly string[] },
): ConditionFacts | undefined {
  const about = conditions.filter(({ kind }) => kinds.includes(kind))
  return tried
    .map((more) => ({ ...facts, ...more }))
    .find((one) => about.every((condition) => conditionHolds(condition, one) === wanted.has(condition.name)))
}

function timesFrom(now: number): readonly number[] {
  return Array.from({ length: TIMES }, (_, i) => now + i * HALF_HOUR_MS)
}

function addressesIn(conditions: readonly RequestCondition[]): readonly string[] {
  const networks = conditions.flatMap((one) => (one.kind === 'network' ? one.networks : []))
  return [ELSEWHERE, ...networks.map((network) => network.split('/')[0] ?? network)]
}

/** The oldest sign-in that some condition accepts comes first, so that shorter ages don't hold by chance. */
function signInsFor(conditions: readonly RequestCondition[], now: number): readonly Partial<ConditionFacts>[] {
  const asked = conditions.flatMap((one) => (one.kind === 'signedIn' ? [one] : []))
  const ages = asked.flatMap(({ withinMs }) => (withinMs === undefined ? [] : [Math.floor(withinMs / 2)]))
  const times = [...new Set(ages)].toSorted((a, b) => b - a).map((age) => ({ authTime: now - age }))
  const classes = [...new Set(asked.flatMap(({ acr = [] }) => acr))].map((acr) => ({ acr }))
  return [{}, ...times].flatMap((time) => [{}, ...classes].map((acr) => ({ ...time, ...acr })))
}

/** The clocks of two zones may agree for a part of the year. */
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
    case 'asserted':
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

const SHOWING: readonly string[] = ['create', 'replace', 'update']

/** In the order of conditions.yaml. Those that only a PEP can assert hold for no request to a route. */
export function conditionsAbout(
  policy: Policy,
  resource: Resource,
  endpoint: Pick<Endpoint, 'action' | 'operation'> | undefined,
): readonly string[] {
  const actions = actionsAbout(policy, resource, endpoint)
  const named = new Set(actions.flatMap((action) => namedConditions(policy, resource, action)))
  return [...policy.conditions.values()]
    .filter(({ name, kind }) => named.has(name) && kind !== 'asserted')
    .map(({ name }) => name)
}

/** Rules about reading decide what the answer to a write shows, and what is concealed. */
export function actionsAbout(
  { ownership }: Pick<Policy, 'ownership'>,
  { name, actions }: Resource,
  endpoint: Pick<Endpoint, 'action' | 'operation'> | undefined,
): readonly Action[] {
  const isRead = SHOWING.includes(endpoint?.operation ?? '') || ownership.get(name)?.conceal
  const names = [...(endpoint ? [endpoint.action] : []), ...(isRead ? ['read'] : [])]
  return [...new Set(names.flatMap((one) => actions.get(one) ?? []))]
}
