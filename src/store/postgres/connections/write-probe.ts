/** Asks the database for readiness: whether it answers, and takes writes. */
import { answerWithin } from '../../../base/under-way.ts'
import { PROBED, writeMark } from '../../sql/named-values.ts'
import { answering } from '../failures.ts'
import type { Connections } from './connections.ts'

/** Written at most this often, however often somebody asks. */
const BETWEEN_MS = 1000
/** A write that takes longer counts as refused. */
const PATIENCE_MS = 900

export class WriteProbe {
  readonly #connections: Connections
  #written: Promise<unknown> = Promise.resolve()
  #due = 0

  constructor(connections: Connections) {
    this.#connections = connections
  }

  /** Throws StoreUnavailable. */
  async ask(): Promise<void> {
    await this.#connections.quick({ text: 'select 1', values: [] })
    if (performance.now() >= this.#due) {
      // The next one follows when this one has ended, although nobody waits for so long.
      this.#due = Number.POSITIVE_INFINITY
      this.#written = this.#write()
      this.#written.catch(() => undefined)
    }
    await answering(() => answerWithin(PATIENCE_MS, this.#written))
  }

  /** Not among the look-ups: a commit may hang, for example while a synchronous replica is away. */
  async #write(): Promise<void> {
    try {
      await this.#connections.change(writeMark(PROBED, 'answered'))
    } finally {
      this.#due = performance.now() + BETWEEN_MS
    }
  }
}
