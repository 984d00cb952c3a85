/**
 * Pages of lists that were read before. A page that has the same text has the same rows: they aren't made again, and
 * what others make of them can be kept with them. Each page is read each time, so nothing here can be out of date.
 */

import { LRUCache } from 'lru-cache'
import type { ListedObject } from '../../contract.ts'
import type { Row } from '../../sql/statement.ts'

interface KeptPage {
  readonly count: unknown
  readonly text: string
  readonly rows: readonly ListedObject[]
}

/** In characters of the texts. With their rows and what is made of them, they take some tens of megabytes at most. */
const MOST_KEPT = 4_000_000
const LONGEST_KEPT = 100_000

export class KeptPages {
  readonly #pages = new LRUCache<string, KeptPage>({
    maxSize: MOST_KEPT,
    maxEntrySize: LONGEST_KEPT,
    sizeCalculation: ({ text }, question) => text.length + question.length,
  })

  /**
   * `question`: what the page is an answer to; `read` makes its rows, and returns undefined if they can't be read this
   * way. Rows that are given again are frozen.
   */
  rows(
    question: string,
    page: Row,
    read: (page: Row) => readonly ListedObject[] | undefined,
  ): readonly ListedObject[] | undefined {
    const [count, text] = page
    const known = this.#pages.get(question)
    if (known && known.text === text && known.count === count) return Object.freeze(known.rows)
    const rows = read(page)
    if (rows && typeof text === 'string') this.#pages.set(question, { count, text, rows })
    return rows
  }
}
