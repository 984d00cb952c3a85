/** Lets a few pieces of work run at once and some wait, in two lines; what comes after these is sent away. */

/** So many wait already that nobody should join them. */
export class Overcrowded extends Error {
  constructor() {
    super('too many are waiting')
    this.name = 'Overcrowded'
  }
}

/** Strangers can fill a line; they don't stand in that of those who are known. */
export type WaitingLine = 'known' | 'anybody'

export class WaitingRoom {
  readonly #atOnce: number
  readonly #mostWaiting: number
  readonly #lines: Readonly<Record<WaitingLine, (() => void)[]>> = { known: [], anybody: [] }
  /** The line that somebody waited in who was served last. */
  #last: WaitingLine = 'anybody'
  #running = 0

  /** `mostWaiting`: in each line. */
  constructor(atOnce: number, mostWaiting: number) {
    this.#atOnce = atOnce
    this.#mostWaiting = mostWaiting
  }

  /** In the order of the calls of a line; the two lines take turns. Throws Overcrowded, or what the work throws. */
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

  /** The place goes to the next one, so that nobody can come in between. */
  #pass(): void {
    const inTurn: readonly WaitingLine[] = this.#last === 'known' ? ['anybody', 'known'] : ['known', 'anybody']
    const line = inTurn.find((one) => this.#lines[one].length > 0)
    if (line) this.#last = line
    const next = line && this.#lines[line].shift()
    if (next) next()
    else this.#running -= 1
  }
}
