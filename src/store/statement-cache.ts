/** Keeps the prepared statements used last, so that a query of a known shape isn't compiled again. */

export class StatementCache<S> {
  readonly #capacity: number
  readonly #statements = new Map<string, S>()

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get size(): number {
    return this.#statements.size
  }

  /** The statement of this key, made when it isn't kept. A map keeps the order of insertion: the first is the oldest. */
  get(key: string, make: () => S): S {
    const statement = this.#statements.get(key) ?? make()
    this.#statements.delete(key)
    this.#statements.set(key, statement)
    if (this.#statements.size > this.#capacity) this.#dropOldest()
    return statement
  }

  #dropOldest(): void {
    const oldest = this.#statements.keys().next()
    if (!oldest.done) this.#statements.delete(oldest.value)
  }
}
