/** Work on one object, one at a time: first come, first served. */

export class Turns {
  /** By the object's name: the work that was the last to come. */
  readonly #last = new Map<string, Promise<unknown>>()

  /** Resolves and rejects as the work does, which begins when all work of this name that came before has ended. */
  async take<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name) ?? Promise.resolve()
    const turn = before.then(work, work)
    this.#last.set(name, turn)
    try {
      return await turn
    } finally {
      if (this.#last.get(name) === turn) this.#last.delete(name)
    }
  }
}
