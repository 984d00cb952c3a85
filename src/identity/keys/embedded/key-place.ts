/** Where the embedded keys are kept: in a folder (keys-in-folder.ts) or in the database (keys-in-database.ts). */

import { KeyError } from '../key-error.ts'
import { canSign, type EmbeddedKey, type EmbeddedPublicKey } from './embedded-key.ts'

/** Times are milliseconds since the epoch, by the clock of the place. */
export interface KeptKey {
  /** The position of the key in the order of creation. */
  readonly number: number
  readonly createdAt: number
  readonly key: EmbeddedPublicKey | EmbeddedKey
}

/** A key that only verifies, and the earliest time to remove it: the last token that it signed has ended by then. */
export interface RetiredKey extends KeptKey {
  readonly retiredAt: number
  readonly endsAt: number
}

/** Oldest first. */
export interface RingKeys {
  readonly retired: readonly RetiredKey[]
  readonly current: KeptKey & { readonly key: EmbeddedKey }
}

/** Some keys of the place can't be read, but it is known which keys are there. */
export class UnreadableKeys extends KeyError {
  readonly #present: ReadonlySet<string>

  constructor({ message, fix }: KeyError, present: readonly Pick<KeptKey, 'number' | 'createdAt'>[]) {
    super(message, fix)
    this.#present = new Set(present.map(idOf))
  }

  has(kept: KeptKey): boolean {
    return this.#present.has(idOf(kept))
  }
}

function idOf({ number, createdAt }: Pick<KeptKey, 'number' | 'createdAt'>): string {
  return `${number} ${createdAt}`
}

/** Methods throw KeyError, and StoreUnavailable if the place is a database. */
export interface KeyPlace {
  /** Makes the first key, if no key exists. Two processes that start at the same time get the same key. */
  makeFirstKey(): Promise<void>
  read(): Promise<RingKeys>
  /** Undefined if the keys are the same as at the last reading. */
  readChanged(): Promise<RingKeys | undefined>
  /** Makes the successor of key number `after`; false if another process was first. */
  succeed(after: number): Promise<boolean>
  /** Removes the private halves of older keys, and the keys whose tokens have all ended. Returns the other keys. */
  tidy(): Promise<readonly RetiredKey[]>
  /** Removes the older keys, so that none of their tokens is accepted any more, and returns them. */
  removeRetired(): Promise<readonly RetiredKey[]>
  /**
   * Must be called before a token that lasts longer than those of sign-in is handed out: its key must outlast it.
   * `lastsMs`: from now.
   */
  noteToken(key: KeptKey, lastsMs: number): Promise<void>
  close(): Promise<void>
}

/**
 * Tokens of sign-in last ten minutes, and a server may still sign for a moment after a rotation. The ends of tokens
 * that last longer are noted.
 */
export const UNNOTED_MS = 11 * 60_000

export interface NotedKey extends KeptKey {
  /** The last noted end of a token of the key; 0 without any. */
  readonly notedEnd: number
}

/** The last key signs. `keys`: by number. Undefined if there are no keys, or if the last one can't sign. */
export function inOrder(keys: readonly NotedKey[]): RingKeys | undefined {
  const current = keys.at(-1)
  if (!current || !isSigner(current)) return undefined
  const retired = keys.slice(0, -1).map((kept, i): RetiredKey => {
    const retiredAt = keys[i + 1]?.createdAt ?? current.createdAt
    return { ...kept, retiredAt, endsAt: Math.max(retiredAt + UNNOTED_MS, kept.notedEnd) }
  })
  return { retired, current }
}

function isSigner(kept: KeptKey): kept is RingKeys['current'] {
  return canSign(kept.key)
}
