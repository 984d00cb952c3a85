/** Runs a few pieces of work at once and lets some wait, in two lines; refuses work beyond that. */

/** The line is full, so nobody else may join it. */
export class Overcrowded extends Error {
  constructor() {
    super('too many are waiting')
    this.name = 'Overcrowded'
  }
}

/** Strangers can fill their own line, but they never stand in the line of known users. */
export type WaitingLine = 'known' | 'anybody'

export class WaitingRoom {
  readonly #atOnce: number
  readonly #mostWaiting: number
  readonly #lines: Readonly<Record<WaitingLine, (() => void)[]>> = { known: [], anybody: [] }
  /** The line of the work that started last after waiting. */
  #last: WaitingLine = 'anybody'
  #running = 0

  /** `mostWaiting`: the limit of each line. */
  constructor(atOnce: number, mostWaiting: number) {
    this.#atOnce = atOnce
    this.#mostWaiting = mostWaiting
  }

  /**
   * Runs the work of a line in the order of the calls; the two lines take turns. Throws Overcrowded, or the error of
   * the work.
   */
  async take<T>(line: WaitingLine, work: () => Promise<T>): Promise<T> {
    if (this.#running === this.#atOnce) await this.#wait(this.#lines[line])
    else this.#running += 1
    try {
      return await work()
    } finally {
      this.#pass()
    }
  }

  #wait(line: (() => void)[]): Promise<void> {
    if (line.length >= this.#mostWaiting) throw new Overcrowded()
    return new Promise((resolve) => line.push(resolve))
  }

  /** Passes the place directly to the next in line, so that nobody can take it in between. */
  #pass(): void {
    const inTurn: readonly WaitingLine[] = this.#last === 'known' ? ['anybody', 'known'] : ['known', 'anybody']
    const line = inTurn.find((one) => this.#lines[one].length > 0)
    if (line) this.#last = line
    const next = line && this.#lines[line].shift()
    if (next) next()
    else this.#running -= 1
  }
}
