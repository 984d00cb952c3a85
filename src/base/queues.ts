/** Work that waits for earlier work of the same name, such as writes of one object. */

/** Runs work with the same name one at a time within this process: first come, first served. */
export class Queues {
  /** The last work that was added, by name. */
  readonly #last = new Map<string, Promise<unknown>>()

  /** Starts the work when all earlier work of this name has ended. Resolves and rejects as the work does. */
  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name) ?? Promise.resolve()
    const mine = before.then(work, work)
    this.#last.set(name, mine)
    try {
      return await mine
    } finally {
      if (this.#last.get(name) === mine) this.#last.delete(name)
    }
  }
}
