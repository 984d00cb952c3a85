/**
 * The signing keys of the servers that share a database. The texts are opaque here: they are encrypted, and whoever
 * reads one checks it. Times are milliseconds since the epoch by the clock of the database, because the clocks of
 * instances may differ. test/store/contract-signing-keys.ts tests every engine.
 */

export interface StoredKey {
  /** Counts from 1. The key with the highest number signs. */
  readonly number: number
  readonly text: string
  readonly createdAt: number
  /** The end of the longest token that was noted; 0 without any. */
  readonly tokensEndAt: number
}

export interface StoredKeys {
  /** The time of the reading. */
  readonly now: number
  /** By number. */
  readonly keys: readonly StoredKey[]
}

/** Any method throws StoreUnavailable. Every change is durable when it returns. */
export interface SigningKeys {
  /** Sees everything that any instance changed before the call. Each process of each instance asks once a second. */
  read(): Promise<StoredKeys>
  /**
   * False, and nothing is stored, unless the number is the one after the last key's: of several callers with one
   * number, one wins.
   */
  add(number: number, text: string): Promise<boolean>
  /** False, and nothing is changed, unless the key has the text `from`. */
  replace(number: number, from: string, to: string): Promise<boolean>
  /** A token of the key lasts so long from now; an earlier end than the noted one changes nothing. False without the key. */
  noteToken(number: number, lastsMs: number): Promise<boolean>
  /** Keeps the key with the highest number. */
  remove(number: number): Promise<void>
  close(): Promise<void>
}
