/**
 * Slows down the guessing of passwords: attempts count per user and per address, also for a user that doesn't exist,
 * and each failure makes the next attempt wait longer. The decision comes before any hashing (docs/decisions/0025).
 */
import { createHmac } from 'node:crypto'
import type { Attempts, Counter, Counters, JudgedAttempts } from '../../store/directory.ts'

/** Milliseconds; the wait doubles with each failure beyond the free ones. */
interface Slowness {
  readonly free: number
  readonly longestMs: number
}

const FIRST_WAIT_MS = 1000
/** Low, so that an attacker can't lock a user out for long by guessing the password. */
const PER_USER: Slowness = { free: 5, longestMs: 30_000 }
/** Many people may share an address. */
const PER_ADDRESS: Slowness = { free: 20, longestMs: 15 * 60_000 }

const DAY_MS = 24 * 60 * 60_000
/** The time after the last failure, in milliseconds. */
const FORGOTTEN_AFTER_MS = DAY_MS
/** The time for which an address stays known as the user's, after the user last signed in from it. */
const KNOWN_FOR_MS = 30 * DAY_MS

interface Origin {
  /**
   * In exactly the form in which users are looked up: an address with another case belongs to another user, whose
   * success must not forgive failures here.
   */
  readonly email: string
  /** A network, in the form in which limits count addresses. */
  readonly address: string
}

export type SignInAdmission =
  | { readonly kind: 'admitted'; readonly attempt: AdmittedAttempt }
  | { readonly kind: 'delayed'; readonly retryAfterMs: number }

/**
 * An admitted attempt counts as a failure until it succeeds, so that simultaneous attempts gain nothing over
 * consecutive ones.
 */
interface AdmittedAttempt {
  /** The user has signed in from this address before. */
  readonly known: boolean
  succeeded(): Promise<void>
  /** Withdraws the attempt because no password was compared. */
  withdrawn(): Promise<void>
}

export interface Guessing {
  begin(origin: Origin): Promise<SignInAdmission>
}

/** The keys of an origin's counters. */
interface CounterKeys {
  readonly user: string
  readonly address: string
  /** The key used instead of `user` if the user has signed in from the address before. */
  readonly known: string
}

/** `secret` prevents guessing e-mail addresses (and other text typed by mistake) from the stored keys. */
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

function keysOf(secret: Uint8Array, { email, address }: Origin): CounterKeys {
  const key = (...parts: readonly string[]) =>
    createHmac('sha256', secret).update(JSON.stringify(parts)).digest('base64url')
  return { user: key('user', email), address: key('address', address), known: key('known', email, address) }
}

interface WaitVerdict {
  /** The wait in milliseconds; 0 if the attempt may be made, and it then counts as a failure from now on. */
  readonly wait: number
  /** The key that counts for the user. */
  readonly user: string
}

function admit(found: Counters, keys: CounterKeys, now: number): JudgedAttempts<WaitVerdict> {
  const { counters, redated } = datedUntil(now, found)
  const known = counters.get(keys.known)
  const user = known ? keys.known : keys.user
  // Failures of other users at this address delay only users who have never signed in from it.
  const ofAddress = known ? 0 : waitOf(counters.get(keys.address), PER_ADDRESS, now)
  const wait = Math.max(0, waitOf(counters.get(user), PER_USER, now), ofAddress)
  if (wait > 0) return { verdict: { wait, user }, ...(redated.size > 0 && { changes: redated }) }
  const more = (key: string, expiresAt: number): [string, Counter] => {
    return [key, { failures: failuresOf(counters.get(key), now) + 1, at: now, expiresAt }]
  }
  // Failures don't extend the time for which the address is known.
  const changes = [
    more(user, known?.expiresAt ?? now + FORGOTTEN_AFTER_MS),
    more(keys.address, now + FORGOTTEN_AFTER_MS),
  ]
  return { verdict: { wait: 0, user }, changes: new Map(changes) }
}

/** If the clock was set back, failures dated in the future count as of now, so that the wait still ends. */
function datedUntil(
  now: number,
  found: Counters,
): { readonly counters: Counters; readonly redated: ReadonlyMap<string, Counter> } {
  const redated = new Map([...found].filter(([, { at }]) => at > now).map(([key, one]) => [key, { ...one, at: now }]))
  return { counters: redated.size > 0 ? new Map([...found, ...redated]) : found, redated }
}

/** A counter can exist for longer than its failures count. */
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
 * Forgets the user's own failures. Failures of other users at this address still count; otherwise an attacker could
 * reset them with an account of their own. If the address was known, failures from other addresses still count, because
 * they are somebody else's.
 */
function forgive(counters: Counters, keys: CounterKeys, now: number): JudgedAttempts<void> {
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
