/**
 * Files of the log that are full or were moved away: each is synced to disk, without blocking the event loop, and then
 * closed.
 */
import { close, fsync } from 'node:fs'
import { promisify } from 'node:util'

type OnDescriptor = (descriptor: number) => Promise<void>

export class RetiredFiles {
  readonly #sync: OnDescriptor
  readonly #close: OnDescriptor
  #all: Promise<void> = Promise.resolve()

  constructor(sync: OnDescriptor = promisify(fsync), closeFile: OnDescriptor = promisify(close)) {
    this.#sync = sync
    this.#close = closeFile
  }

  /**
   * Takes a file that nobody writes to any more. Returns at once: syncing a full file is slow, and no request waits for
   * it.
   */
  add(descriptor: number): void {
    const before = this.#all
    this.#all = this.#retire(descriptor).then(() => before)
    // `durable` reports the failure.
    this.#all.catch(() => {})
  }

  /** Resolves when the disk has all of them; rejects, once, if it couldn't take one. */
  async durable(): Promise<void> {
    const all = this.#all
    try {
      await all
    } catch (error) {
      if (all === this.#all) this.#all = Promise.resolve()
      throw error
    }
  }

  async #retire(descriptor: number): Promise<void> {
    await this.#sync(descriptor).finally(() => this.#close(descriptor))
  }
}
