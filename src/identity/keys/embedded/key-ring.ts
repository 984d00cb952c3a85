/**
 * The embedded keys in use: one signs, all verify. A rotation by another process takes effect within a second, without
 * a restart.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { JWTVerifyGetKey } from 'jose'
import { JWKSNoMatchingKey } from 'jose/errors'
import type { Json } from '../../../resources/resource.ts'
import { StoreUnavailable } from '../../../store/errors.ts'
import type { EmbeddedKey, EmbeddedPublicKey, KeptKey, RingKeys } from './embedded-key.ts'
import { type KeptKeys, UnreadableKeys } from './kept-keys.ts'

/** Verifies tokens that embedded keys have signed. */
export interface VerifyingKeys {
  /** Finds a key by `kid`, which the tokens made here always have. Throws a JOSEError for an unknown `kid`. */
  readonly find: JWTVerifyGetKey
  /** See KeyedVerifier. */
  readonly generation: () => number
}

export interface KeyRing extends VerifyingKeys {
  /** The key that signs now. */
  readonly signer: () => EmbeddedKey
  /** RFC 7517 section 5: the public halves, the signing key first. */
  readonly keySet: () => Json
  /** Whether the last look could read the keys; otherwise the previous keys stay in use. */
  readonly readable: () => boolean
  readonly close: () => Promise<void>
}

const LOOK_EVERY_MS = 1000
/** Anybody can invent a kid, so looks are limited: not every unknown kid causes a new one. */
const LOOK_AGAIN_MS = 100
const TIDY_EVERY_MS = 60_000

/**
 * Throws what `kept` throws for keys that can't be read now. Later it reports unreadable keys through `report`, and
 * keeps its present keys. It closes `kept` when it is closed, or can't be opened.
 */
export async function openKeyRing(kept: KeptKeys, report: (error: unknown) => void): Promise<KeyRing> {
  const ring = new Ring(kept, report)
  await ring.open()
  return {
    signer: () => ring.keys.current.key,
    find: async ({ kid }) => ring.find(kid),
    generation: () => ring.generation,
    keySet: () => ({ keys: ring.all.map(publicJwk) }),
    readable: () => ring.readable,
    close: () => ring.close(),
  }
}

/** For keys that never change. */
export function fixedKeys(keys: readonly EmbeddedPublicKey[]): VerifyingKeys {
  // A map, because in an object the kid `__proto__` would find something.
  const byKid = new Map<unknown, EmbeddedPublicKey>(keys.map((key) => [key.kid, key]))
  return {
    generation: () => 0,
    find: async ({ kid }) => {
      const found = byKid.get(kid)
      if (!found) throw new JWKSNoMatchingKey()
      return found.publicKey
    },
  }
}

class Ring {
  readonly #kept: KeptKeys
  readonly #report: (error: unknown) => void
  #keys: RingKeys | undefined
  #all: readonly EmbeddedPublicKey[] = []
  #byKid = new Map<unknown, EmbeddedPublicKey>()
  /** See KeyedVerifier. */
  generation = 0
  #lookedAt = 0
  #tidiedAt = 0
  /** Why the last look failed. */
  #fault: unknown
  #looking: Promise<void> | undefined
  #lookingAgain: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(kept: KeptKeys, report: (error: unknown) => void) {
    this.#kept = kept
    this.#report = report
  }

  get keys(): RingKeys {
    if (!this.#keys) throw new Error('the key ring was not opened')
    return this.#keys
  }

  /** The keys that verify, newest first. */
  get all(): readonly EmbeddedPublicKey[] {
    return this.#all
  }

  get readable(): boolean {
    return this.#fault === undefined
  }

  async open(): Promise<void> {
    try {
      this.#use(await this.#kept.read())
    } catch (error) {
      // An open connection would keep the process from ending.
      await this.#kept.close()
      throw error
    }
    this.#timer = setInterval(() => void this.#look(), LOOK_EVERY_MS).unref()
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#lookingAgain
    await this.#looking
    await this.#kept.close()
  }

  /** Throws StoreUnavailable for an unknown kid while a lost database may have its key. */
  async find(kid: unknown): Promise<EmbeddedPublicKey['publicKey']> {
    if (!this.#byKid.has(kid)) await this.#lookAgain()
    const found = this.#byKid.get(kid)
    if (found) return found.publicKey
    throw this.#fault instanceof StoreUnavailable ? this.#fault : new JWKSNoMatchingKey()
  }

  /**
   * Starts a new look after the call: another process may have made the key since the last look, and may already sign
   * with it.
   */
  #lookAgain(): Promise<void> {
    this.#lookingAgain ??= sleep(Math.max(0, this.#lookedAt + LOOK_AGAIN_MS - Date.now())).then(() => {
      this.#lookingAgain = undefined
      return this.#look()
    })
    return this.#lookingAgain
  }

  /** One look at a time. Never rejects: the good keys stay in use. */
  #look(): Promise<void> {
    this.#looking ??= this.#readChanged().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  async #readChanged(): Promise<void> {
    try {
      this.#lookedAt = Date.now()
      if (this.#lookedAt - this.#tidiedAt >= TIDY_EVERY_MS) await this.#tidy()
      const changed = await this.#kept.readChanged()
      if (changed) this.#use(changed)
      this.#fault = undefined
    } catch (error) {
      if (String(error) !== String(this.#fault)) this.#report(error)
      this.#fault = error
      // A removed key counts as removed, even if its successor can't be read.
      if (error instanceof UnreadableKeys) this.#verifyWith(newestFirst(this.keys).filter((kept) => error.has(kept)))
    }
  }

  async #tidy(): Promise<void> {
    this.#tidiedAt = this.#lookedAt
    if (this.keys.retired.length > 0) await this.#kept.tidy()
  }

  #use(keys: RingKeys): void {
    this.#keys = keys
    this.#verifyWith(newestFirst(keys))
  }

  #verifyWith(kept: readonly KeptKey[]): void {
    this.#all = kept.map(({ key }) => key)
    const byKid = new Map<unknown, EmbeddedPublicKey>(this.#all.map((key) => [key.kid, key]))
    if (new Set(byKid.keys()).symmetricDifference(this.#byKid).size > 0) this.generation += 1
    this.#byKid = byKid
  }
}

function newestFirst({ current, retired }: RingKeys): readonly KeptKey[] {
  return [current, ...retired.toReversed()]
}

function publicJwk({ kid, jwk }: EmbeddedPublicKey): Json {
  return { ...jwk, kid, use: 'sig', alg: 'EdDSA' }
}
