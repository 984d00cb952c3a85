/** When something that is looked at again and again has changed and settled. Times are milliseconds of one clock. */

interface Patience {
  /** A change is due when there was no other for so long. */
  readonly quietMs: number
  /** It is due after so long in any case. */
  readonly longestMs: number
}

export class Settling {
  readonly #patience: Patience
  #taken: string | undefined
  #seen: string | undefined
  #seenAt = 0
  /** When what was taken first had changed; undefined while it hasn't. */
  #changedAt: number | undefined

  constructor(patience: Patience) {
    this.#patience = patience
  }

  see(state: string, at: number): void {
    if (state === this.#seen) return
    this.#seen = state
    this.#seenAt = at
    this.#changedAt ??= at
  }

  isDue(at: number): boolean {
    if (this.#changedAt === undefined || this.#seen === this.#taken) return false
    return at - this.#seenAt >= this.#patience.quietMs || at - this.#changedAt >= this.#patience.longestMs
  }

  /** What was seen last could not be taken: it is due again as if it had changed now. */
  putOff(at: number): void {
    this.#taken = undefined
    this.#seenAt = at
    this.#changedAt = at
  }

  /** What was seen last is taken; a change since then is seen at the next look. */
  take(): void {
    this.#taken = this.#seen
    this.#changedAt = undefined
  }
}
