/** Bounds work that is under way: how much at a time, of one caller and of all, and how long an answer is waited for. */

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

  isFree(caller: string): boolean {
    return (this.#byCaller.get(caller) ?? 0) < this.#most.ofCaller && this.#all < this.#most.ofAll
  }

  /** Runs the work, if it isn't too much. Rejects with what the work rejects with. */
  async run<T>(caller: string, work: () => Promise<T>): Promise<T> {
    const leave = this.enter(caller)
    try {
      return await work()
    } finally {
      leave()
    }
  }

  /** Counts work until the returned function is called. Throws what `refuse` makes. */
  enter(caller: string): () => void {
    if (!this.isFree(caller)) throw this.#refuse()
    this.#byCaller.set(caller, (this.#byCaller.get(caller) ?? 0) + 1)
    this.#all += 1
    return () => {
      this.#all -= 1
      const left = (this.#byCaller.get(caller) ?? 1) - 1
      if (left === 0) this.#byCaller.delete(caller)
      else this.#byCaller.set(caller, left)
    }
  }
}

/**
 * Settles as `work` does, or rejects after `milliseconds`. What `work` does after that is ignored.
 *
 * A stall of this process must not count as a slow answer: after a stall in the first half of the time, the second half
 * remains to send and to be answered; an answer that arrives during a stall in the second half is read before the
 * immediate runs.
 */
export function answerWithin<T>(milliseconds: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const expire = (): void => reject(new Error(`no answer within ${milliseconds} ms`))
    const waitOn = (): void => {
      timer = setTimeout(() => setImmediate(expire), milliseconds / 2)
    }
    let timer = setTimeout(waitOn, milliseconds / 2)
    const inTime =
      <V>(settle: (value: V) => void) =>
      (value: V): void => {
        clearTimeout(timer)
        settle(value)
      }
    work.then(inTime(resolve), inTime(reject))
  })
}
