/** Keeps what was used last, so that it isn't made again: statements by their shape, conditions by whom they are about. */

export class RecentlyUsed<T> {
  readonly #capacity: number
  readonly #kept = new Map<string, T>()

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get size(): number {
    return this.#kept.size
  }

  /** What is kept under this key, without a use of it. */
  peek(key: string): T | undefined {
    return this.#kept.get(key)
  }

  /** What is kept under this key, made when there is nothing. A map keeps the order of insertion: the first is the oldest. */
  get(key: string, make: () => T): T {
    const found = this.#kept.get(key) ?? make()
    this.#kept.delete(key)
    this.#kept.set(key, found)
    if (this.#kept.size > this.#capacity) this.#dropOldest()
    return found
  }

  #dropOldest(): void {
    const oldest = this.#kept.keys().next()
    if (!oldest.done) this.#kept.delete(oldest.value)
  }
}
