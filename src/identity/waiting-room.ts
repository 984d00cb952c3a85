/** Lets a few pieces of work run at once and some wait; what comes after these is sent away. */

/** So many wait already that nobody should join them. */
export class Overcrowded extends Error {
  constructor() {
    super('too many are waiting')
    this.name = 'Overcrowded'
  }
}

export class WaitingRoom {
  readonly #atOnce: number
  readonly #mostWaiting: number
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(atOnce: number, mostWaiting: number) {
    this.#atOnce = atOnce
    this.#mostWaiting = mostWaiting
  }

  /** In the order of the calls. Throws Overcrowded, or what the work throws. */
  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running === this.#atOnce) await this.#wait()
    else this.#running += 1
    try {
      return await work()
    } finally {
      this.#pass()
    }
  }

  #wait(): Promise<void> {
    if (this.#waiting.length >= this.#mostWaiting) throw new Overcrowded()
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  /** The place goes to the next one, so that nobody can come in between. */
  #pass(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#running -= 1
  }
}
