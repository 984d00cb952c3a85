/**
 * Files of the log that are full or were moved away: the disk has each whole, beside the event loop, and then it is
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

  /** Nobody writes to it any more. Returns at once: a full file takes the disk long, and no request waits for it. */
  add(descriptor: number): void {
    const before = this.#all
    this.#all = this.#retire(descriptor).then(() => before)
    // Told to whoever asks.
    this.#all.catch(() => {})
  }

  /** Resolves when the disk has them all; rejects, once, when it couldn't take one. */
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
