/** Asks a database for readiness: whether it takes writes. */
import { answerWithin } from '../../base/under-way.ts'
import { isOfContract, StoreUnavailable } from '../errors.ts'

/** A write waits for the disk, so there is at most one in this time, however often somebody asks. */
const BETWEEN_MS = 1000

interface ProbeOptions {
  /** Writes something, durably. */
  readonly write: () => Promise<unknown>
  /** A write that takes longer counts as refused. */
  readonly patienceMs: number
  /** How long after a failed write the next one follows. */
  readonly afterFailureMs?: number
}

export class WriteProbe {
  readonly #options: ProbeOptions
  #written: Promise<unknown> = Promise.resolve()
  #due = 0

  constructor(options: ProbeOptions) {
    this.#options = options
  }

  /** Throws StoreUnavailable. */
  async ask(): Promise<void> {
    const { patienceMs } = this.#options
    if (performance.now() >= this.#due) {
      // The next one follows when this one has ended, although nobody waits for so long.
      this.#due = Number.POSITIVE_INFINITY
      this.#written = this.#write()
      this.#written.catch(() => undefined)
    }
    await answerWithin(patienceMs, this.#written).catch((error) => {
      throw isOfContract(error) ? error : new StoreUnavailable(error)
    })
  }

  async #write(): Promise<void> {
    const { write, afterFailureMs = BETWEEN_MS } = this.#options
    let pause = afterFailureMs
    try {
      await write()
      pause = BETWEEN_MS
    } finally {
      this.#due = performance.now() + pause
    }
  }
}
