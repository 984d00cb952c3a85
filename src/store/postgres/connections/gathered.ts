/**
 * Look-ups of one kind that are asked for in the same turn of the event loop: one statement answers them all. It is
 * sent after the last of them was asked for, so each sees everything that was committed before (docs/decisions/0081).
 */
import type { Row, Statement } from '../../sql/statement.ts'
import { asOfContract, isOfData } from '../failures.ts'

export interface GatheredOptions<Found> {
  /** Rejects with the driver's errors. */
  readonly ask: (statement: Statement) => Promise<readonly Row[]>
  /**
   * It joins `ASKED_FOR` (query/statement.ts). The first cell of a row is the number of the question that it answers,
   * from 1.
   */
  readonly text: string
  /** What is found, from the cells after the first one; undefined: there was no row. */
  readonly found: (row: Row | undefined) => Found
  /** A larger group is asked for with several statements. */
  readonly most?: number
  /** Equal questions are asked each: their answers are large, and each caller cuts its own. */
  readonly askEach?: boolean
}

const MOST_AT_ONCE = 100

interface GatheredRead {
  readonly texts: readonly string[]
  /** Never throws. */
  readonly answer: (row: Row | undefined) => void
  readonly reject: (error: unknown) => void
}

export class Gathered<Found> {
  readonly #options: GatheredOptions<Found>
  #waiting: GatheredRead[] = []
  /** What was asked for in this turn: the same question is asked once. */
  readonly #asked = new Map<string, Promise<Found>>()

  constructor(options: GatheredOptions<Found>) {
    this.#options = options
  }

  /** Rejects with errors of the contract. `texts`: what to look up, without U+0000. */
  of(...texts: readonly string[]): Promise<Found> {
    if (this.#options.askEach) return this.#wait(texts)
    return this.#asked.getOrInsertComputed(texts.join('\0'), () => this.#wait(texts))
  }

  #wait(texts: readonly string[]): Promise<Found> {
    if (this.#waiting.length === 0) setImmediate(() => this.#askAll())
    const { found } = this.#options
    return new Promise<Found>((resolve, reject) => {
      const answer = (row: Row | undefined) => {
        try {
          resolve(found(row))
        } catch (error) {
          reject(error)
        }
      }
      this.#waiting.push({ texts, answer, reject })
    })
  }

  #askAll(): void {
    const { most = MOST_AT_ONCE } = this.#options
    const waiting = this.#waiting
    this.#waiting = []
    this.#asked.clear()
    for (let from = 0; from < waiting.length; from += most) {
      void this.#askFor(waiting.slice(from, from + most))
    }
  }

  /** Never throws. */
  async #askFor(group: readonly GatheredRead[]): Promise<void> {
    const { ask, text } = this.#options
    try {
      const rows = await ask({ text, values: [JSON.stringify(group.map(({ texts }) => texts))] })
      const byPlace = new Map(rows.map((row) => [row[0], row]))
      for (const [at, { answer }] of group.entries()) answer(byPlace.get(at + 1)?.slice(1))
    } catch (error) {
      // A damaged page of a table must not refuse those who asked for something else.
      if (group.length > 1 && isOfData(error)) await Promise.all(group.map((one) => this.#askFor([one])))
      else for (const { reject } of group) reject(asOfContract(error))
    }
  }
}
