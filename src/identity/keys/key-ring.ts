/**
 * The embedded keys in use: one signs, all verify. A rotation by another process takes effect within a second, without
 * a restart.
 */
import { stat } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { JWTVerifyGetKey } from 'jose'
import { JWKSNoMatchingKey } from 'jose/errors'
import type { Json } from '../../resources/resource.ts'
import type { EmbeddedKey, PublicKey } from './embedded-key.ts'
import { type Keys, makeFirstKey, openKeyFolder, readKeys, tidy } from './key-folder.ts'

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
  readonly close: () => void
}

const LOOK_EVERY_MS = 1000
/** Anybody can invent a kid, so looks are limited: not every unknown kid causes a new one. */
const LOOK_AGAIN_MS = 100
/**
 * A second change within one clock step of the file system can't be seen, so a folder that changed this recently is
 * read again.
 */
const UNSETTLED_MS = 2000
const TIDY_EVERY_MS = 60_000

/**
 * Throws KeyError for keys that can't be read now. Later it reports unreadable keys through `tell`, and keeps its
 * present keys.
 */
export async function openKeyRing(dataDirectory: string, tell: (error: unknown) => void): Promise<KeyRing> {
  const ring = new FolderRing(await openKeyFolder(dataDirectory), tell)
  await ring.open()
  return {
    signer: () => ring.keys.current.key,
    find: async ({ kid }) => ring.find(kid),
    generation: () => ring.generation,
    keySet: () => ({ keys: ring.all.map(publicJwk) }),
    close: () => ring.close(),
  }
}

/** For keys that never change. */
export function fixedKeys(keys: readonly PublicKey[]): VerifyingKeys {
  // A map, because in an object the kid `__proto__` would find something.
  const byKid = new Map<unknown, PublicKey>(keys.map((key) => [key.kid, key]))
  return {
    generation: () => 0,
    find: async ({ kid }) => {
      const found = byKid.get(kid)
      if (!found) throw new JWKSNoMatchingKey()
      return found.publicKey
    },
  }
}

class FolderRing {
  readonly #folder: string
  readonly #tell: (error: unknown) => void
  #keys: Keys | undefined
  #byKid = new Map<unknown, PublicKey>()
  #generation = 0
  #seenAt = 0
  #lookedAt = 0
  #tidiedAt = 0
  #fault = ''
  #looking: Promise<void> | undefined
  #lookingAgain: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(folder: string, tell: (error: unknown) => void) {
    this.#folder = folder
    this.#tell = tell
  }

  get keys(): Keys {
    if (!this.#keys) throw new Error('the key ring was not opened')
    return this.#keys
  }

  get all(): readonly PublicKey[] {
    return [this.keys.current, ...this.keys.retired.toReversed()].map(({ key }) => key)
  }

  get generation(): number {
    return this.#generation
  }

  async open(): Promise<void> {
    await makeFirstKey(this.#folder)
    await this.#read()
    this.#timer = setInterval(() => void this.#look(), LOOK_EVERY_MS).unref()
  }

  close(): void {
    clearInterval(this.#timer)
  }

  async find(kid: unknown): Promise<PublicKey['publicKey']> {
    if (!this.#byKid.has(kid)) await this.#lookAgain()
    const found = this.#byKid.get(kid)
    if (!found) throw new JWKSNoMatchingKey()
    return found.publicKey
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
      const { mtimeMs } = await stat(this.#folder)
      if (mtimeMs !== this.#seenAt || this.#lookedAt - mtimeMs < UNSETTLED_MS) await this.#read()
      this.#fault = ''
    } catch (error) {
      const fault = String(error)
      if (fault !== this.#fault) this.#tell(error)
      this.#fault = fault
    }
  }

  async #tidy(): Promise<void> {
    this.#tidiedAt = this.#lookedAt
    if (this.keys.retired.length > 0) await tidy(this.#folder, this.#lookedAt)
  }

  async #read(): Promise<void> {
    const { mtimeMs } = await stat(this.#folder)
    this.#keys = await readKeys(this.#folder)
    this.#seenAt = mtimeMs
    const byKid = new Map<unknown, PublicKey>(this.all.map((key) => [key.kid, key]))
    if (new Set(byKid.keys()).symmetricDifference(this.#byKid).size > 0) this.#generation += 1
    this.#byKid = byKid
  }
}

function publicJwk({ kid, jwk }: PublicKey): Json {
  return { ...jwk, kid, use: 'sig', alg: 'EdDSA' }
}
