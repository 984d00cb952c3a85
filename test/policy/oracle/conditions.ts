/** The conditions of a request that hold (docs/policies.md). */
import { BlockList, isIP } from 'node:net'
import type { OracleCaller, OracleCondition, World } from '../world.ts'
import { durationOf } from './relations.ts'

/** Those that hold now, and those that are taken to hold. */
export function holdingConditions(world: World): ReadonlySet<string> {
  const conditions = [...(world.policy.conditions ?? [])]
  const holding = conditions.filter(([name, one]) => world.assumed?.has(name) || holds(world, one))
  return new Set(holding.map(([name]) => name))
}

/** In the order of the file. */
export function signedInConditions({ policy }: World): readonly string[] {
  return [...(policy.conditions ?? [])].filter(([, one]) => 'signedIn' in one).map(([name]) => name)
}

function holds(world: World, condition: OracleCondition): boolean {
  if ('network' in condition) return condition.network.some((network) => isWithin(network, world.address))
  if ('credential' in condition) return condition.credential.some((kind) => kind === world.caller.credential)
  if ('signedIn' in condition) return isSignedIn(world.caller, condition.signedIn, timeOf(world))
  return isWithinHours(condition, timeOf(world))
}

function timeOf({ now }: World): number {
  if (now === undefined) throw new Error('a condition looks at the time: say when it is asked')
  return now
}

/** An IPv4 address in IPv6 form is that IPv4 address: so does BlockList compare. */
function isWithin(network: string, address: string | undefined): boolean {
  if (address === undefined || isIP(address) === 0) return false
  const [base = '', prefix] = network.split('/')
  const list = new BlockList()
  if (prefix === undefined) list.addAddress(base, familyOf(base))
  else list.addSubnet(base, Number(prefix), familyOf(base))
  return list.check(address, familyOf(address))
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4'
}

const MOST_AHEAD = 5000

function isSignedIn(
  { authTime, acr }: OracleCaller,
  wanted: { readonly within?: string; readonly acr?: readonly string[] },
  now: number,
): boolean {
  const isRecent = (within: string) =>
    authTime !== undefined && now - authTime <= durationOf(within) && authTime - now <= MOST_AHEAD
  return (
    (wanted.within === undefined || isRecent(wanted.within)) &&
    (wanted.acr === undefined || wanted.acr.some((one) => one === acr))
  )
}

// ---- Hours ----------------------------------------------------------------------------------------------------------

type Hours = Extract<OracleCondition, { readonly zone: string }>

const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']

/** Hours that run over midnight belong to the day on which they began. */
function isWithinHours({ days = 'mon-sun', from, to, zone }: Hours, now: number): boolean {
  const { day, clock } = clockIn(zone, now)
  const isDay = (which: number) => daysOf(days).includes(DAYS[(which + 7) % 7] ?? '')
  if (from < to) return isDay(day) && from <= clock && clock < to
  return (isDay(day) && from <= clock) || (isDay(day - 1) && clock < to)
}

/** By zone: making one takes much longer than asking it. */
const clocks = new Map<string, Intl.DateTimeFormat>()

/** What the zone's clock shows: the day of the week, Monday first, and `08:30`. */
function clockIn(timeZone: string, now: number): { readonly day: number; readonly clock: string } {
  const format = clocks.getOrInsertComputed(timeZone, () => {
    return new Intl.DateTimeFormat('en-GB', {
      timeZone,
      weekday: 'short',
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
    })
  })
  const parts = new Map(format.formatToParts(now).map(({ type, value }) => [type, value]))
  const day = DAYS.indexOf((parts.get('weekday') ?? '').toLowerCase())
  return { day, clock: `${parts.get('hour')}:${parts.get('minute')}` }
}

/** `fri`, `mon-fri`, or several of these with commas; `sat-mon` runs over Sunday. */
function daysOf(text: string): readonly string[] {
  return text.split(',').flatMap((part) => {
    const [first = '', last = first] = part.trim().split('-')
    const start = DAYS.indexOf(first)
    const count = (DAYS.indexOf(last) - start + 7) % 7
    return Array.from({ length: count + 1 }, (_, i) => DAYS[(start + i) % 7] ?? '')
  })
}
