/** Bounds how much work is under way at a time: of one caller, and of all. */

export interface Most {
  readonly ofCaller: number
  readonly ofAll: number
}

export class UnderWay {
  readonly #most: Most
  readonly #refuse: () => Error
  readonly #byCaller = new Map<string, number>()
  #all = 0

  /** `refuse`: makes the error for what is too much. */
  constructor(most: Most, refuse: () => Error) {
    this.#most = most
    this.#refuse = refuse
  }

  /** Runs the work, if it isn't too much. Rejects with what the work rejects with. */
  async run<T>(caller: string, work: () => Promise<T>): Promise<T> {
    const own = this.#byCaller.get(caller) ?? 0
    if (own >= this.#most.ofCaller || this.#all >= this.#most.ofAll) throw this.#refuse()
    this.#byCaller.set(caller, own + 1)
    this.#all += 1
    try {
      return await work()
    } finally {
      this.#all -= 1
      const left = (this.#byCaller.get(caller) ?? 1) - 1
      if (left === 0) this.#byCaller.delete(caller)
      else this.#byCaller.set(caller, left)
    }
  }
}
