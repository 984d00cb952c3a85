/**
 * Slows down the guessing of passwords: attempts count per user and per address, also for a user that doesn't exist,
 * and each failure makes the next attempt wait longer. This is decided before anything is hashed (docs/decisions/0023).
 */
import { createHmac } from 'node:crypto'
import type { Attempts, Counter, Counters, JudgedAttempts } from '../../store/attempts.ts'

/** Milliseconds; the wait doubles with each failure beyond the free ones. */
interface Slowness {
  readonly free: number
  readonly longestMs: number
}

const FIRST_WAIT_MS = 1000
/** Low, so that nobody keeps a user out for long by guessing at their password. */
const PER_USER: Slowness = { free: 5, longestMs: 30_000 }
/** Many people may share an address. */
const PER_ADDRESS: Slowness = { free: 20, longestMs: 15 * 60_000 }

const DAY_MS = 24 * 60 * 60_000
/** After the last failure. */
const FORGOTTEN_AFTER_MS = DAY_MS
/** How long an address from which a user has signed in is known as theirs, after the last time. */
const KNOWN_FOR_MS = 30 * DAY_MS

interface Origin {
  /**
   * Exactly as users are looked up by it: an address that differs in case is another user's, whose success must forgive
   * nothing here.
   */
  readonly email: string
  /** A network, as limits count it. */
  readonly address: string
}

export type SignInAdmission =
  | { readonly kind: 'admitted'; readonly attempt: Attempt }
  | { readonly kind: 'delayed'; readonly retryAfterMs: number }

/**
 * An admitted attempt counts as a failure until it succeeds, so that many attempts at once are no more than one by one.
 */
interface Attempt {
  /** The user has signed in from this address before. */
  readonly known: boolean
  succeeded(): Promise<void>
  /** Nothing was compared. */
  withdrawn(): Promise<void>
}

export interface Guessing {
  begin(origin: Origin): Promise<SignInAdmission>
}

/** The keys of an origin's counters. */
interface Keys {
  readonly user: string
  readonly address: string
  /** Counts in the user's place where the user has signed in from the address before. */
  readonly known: string
}

/** `secret` keeps e-mail addresses (and what was typed for one by mistake) from being guessed from what is stored. */
export function createGuessing(attempts: Attempts, secret: Uint8Array, now: () => number): Guessing {
  return {
    async begin(origin) {
      const keys = keysOf(secret, origin)
      const all = Object.values(keys)
      const { wait, user } = await attempts.count(all, (counters) => admit(counters, keys, now()))
      if (wait > 0) return { kind: 'delayed', retryAfterMs: wait }
      return {
        kind: 'admitted',
        attempt: {
          known: user === keys.known,
          succeeded: () => attempts.count(all, (counters) => forgive(counters, keys, now())),
          withdrawn: () => attempts.count(all, (counters) => takeBack(counters, [user, keys.address])),
        },
      }
    },
  }
}

function keysOf(secret: Uint8Array, { email, address }: Origin): Keys {
  const key = (...parts: readonly string[]) =>
    createHmac('sha256', secret).update(JSON.stringify(parts)).digest('base64url')
  return { user: key('user', email), address: key('address', address), known: key('known', email, address) }
}

interface Verdict {
  /** Milliseconds; 0 for one that may try, which counts as a failure from now on. */
  readonly wait: number
  /** The key that counts for the user. */
  readonly user: string
}

function admit(found: Counters, keys: Keys, now: number): JudgedAttempts<Verdict> {
  const { counters, redated } = datedUntil(now, found)
  const known = counters.get(keys.known)
  const user = known ? keys.known : keys.user
  // Others who fail at this address hold up only those who have never signed in from it.
  const ofAddress = known ? 0 : waitOf(counters.get(keys.address), PER_ADDRESS, now)
  const wait = Math.max(0, waitOf(counters.get(user), PER_USER, now), ofAddress)
  if (wait > 0) return { verdict: { wait, user }, ...(redated.size > 0 && { changes: redated }) }
  const more = (key: string, expiresAt: number): [string, Counter] => {
    return [key, { failures: failuresOf(counters.get(key), now) + 1, at: now, expiresAt }]
  }
  // Failures don't prolong how long the address is known.
  const changes = [
    more(user, known?.expiresAt ?? now + FORGOTTEN_AFTER_MS),
    more(keys.address, now + FORGOTTEN_AFTER_MS),
  ]
  return { verdict: { wait: 0, user }, changes: new Map(changes) }
}

/** After the clock was set back, failures of its future count as of now, so that who has to wait can wait it out. */
function datedUntil(
  now: number,
  found: Counters,
): { readonly counters: Counters; readonly redated: ReadonlyMap<string, Counter> } {
  const redated = new Map([...found].filter(([, { at }]) => at > now).map(([key, one]) => [key, { ...one, at: now }]))
  return { counters: redated.size > 0 ? new Map([...found, ...redated]) : found, redated }
}

/** A counter can be there for longer than its failures count. */
function failuresOf(counter: Counter | undefined, now: number): number {
  return counter && now - counter.at < FORGOTTEN_AFTER_MS ? counter.failures : 0
}

function waitOf(counter: Counter | undefined, { free, longestMs }: Slowness, now: number): number {
  const failures = failuresOf(counter, now)
  if (!counter || failures < free) return 0
  const wait = Math.min(longestMs, FIRST_WAIT_MS * 2 ** (failures - free))
  return counter.at + wait - now
}

/**
 * The user's own failures are forgotten. Failures of other users at this address still count, or an attacker could
 * reset them with an account of their own. When the address was known, failures from other addresses still count: they
 * are somebody else's.
 */
function forgive(counters: Counters, keys: Keys, now: number): JudgedAttempts<void> {
  const changes = new Map<string, Counter | undefined>([
    [keys.known, { failures: 0, at: now, expiresAt: now + KNOWN_FOR_MS }],
    [keys.address, oneLess(counters.get(keys.address))],
  ])
  if (!counters.has(keys.known)) changes.set(keys.user, undefined)
  return { verdict: undefined, changes }
}

function takeBack(counters: Counters, keys: readonly string[]): JudgedAttempts<void> {
  return { verdict: undefined, changes: new Map(keys.map((key) => [key, oneLess(counters.get(key))])) }
}

function oneLess(counter: Counter | undefined): Counter | undefined {
  return counter && { ...counter, failures: Math.max(0, counter.failures - 1) }
}
