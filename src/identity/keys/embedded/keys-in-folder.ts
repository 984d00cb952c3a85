/** The embedded keys as files of the data folder: the folder's functions (key-folder.ts) behind the place of keys. */
import { stat } from 'node:fs/promises'
import { makeFirstKey, noteTokenEnd, readKeys, removeRetired, succeed, tidy } from './key-folder.ts'
import type { KeptKey, KeyPlace, RetiredKey, RingKeys } from './key-place.ts'

/**
 * A second change within one clock step of the file system can't be seen, so a folder that changed this recently is
 * read again.
 */
const UNSETTLED_MS = 2000

export class KeysInFolder implements KeyPlace {
  readonly #folder: string
  #seenAt = 0

  /** `folder`: of openKeyFolder or findKeyFolder. */
  constructor(folder: string) {
    this.#folder = folder
  }

  makeFirstKey(): Promise<void> {
    return makeFirstKey(this.#folder)
  }

  async read(): Promise<RingKeys> {
    const { mtimeMs } = await stat(this.#folder)
    const keys = await readKeys(this.#folder)
    this.#seenAt = mtimeMs
    return keys
  }

  async readChanged(): Promise<RingKeys | undefined> {
    const { mtimeMs } = await stat(this.#folder)
    return mtimeMs !== this.#seenAt || Date.now() - mtimeMs < UNSETTLED_MS ? this.read() : undefined
  }

  succeed(after: number): Promise<boolean> {
    return succeed(this.#folder, after)
  }

  tidy(): Promise<readonly RetiredKey[]> {
    return tidy(this.#folder, Date.now())
  }

  removeRetired(): Promise<readonly RetiredKey[]> {
    return removeRetired(this.#folder)
  }

  noteToken({ key }: KeptKey, lastsMs: number): Promise<void> {
    return noteTokenEnd(this.#folder, key.kid, Date.now() + lastsMs)
  }

  async close(): Promise<void> {}
}
