/** Finds a request that meets exactly the wanted conditions: its time, address and sign-in. */
import { conditionHolds, type RequestCondition } from '../../../decide/request-conditions/all-conditions.ts'
import type { ConditionFacts } from '../../../decide/request-conditions/condition-kind.ts'

/** An address of no network that policies name: RFC 5737 keeps it for documentation. */
const ELSEWHERE = '203.0.113.254'

const HALF_HOUR_MS = 30 * 60 * 1000
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
