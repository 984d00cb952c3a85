/**
 * The destination of log lines. It never stops the server: lines that can't be written (because of a full disk, for
 * example) are dropped and counted, and when writing works again a line says how many are missing at this place.
 */
import { CutShort, type WholeLines } from '../../decision-log/whole-lines.ts'

/** The time that the log waits, once, for a reader that is too slow. */
const LONGEST_WAIT_MS = 100
const RETRY_MS = 1000

export class LogDestination {
  readonly #lines: WholeLines
  readonly #tellLost: (count: number) => string
  readonly #retryMs: number
  #retrying: NodeJS.Timeout | undefined
  /** The lines that were dropped since the last line that counted them. */
  #missing = 0
  #lost = 0

  /** `tellLost` returns the line, with its line end, that says how many are missing. */
  constructor(lines: WholeLines, tellLost: (count: number) => string, retryMs = RETRY_MS) {
    this.#lines = lines
    this.#tellLost = tellLost
    this.#retryMs = retryMs
  }

  /** Lines that were dropped since the start. */
  get lost(): number {
    return this.#lost
  }

  write(line: string): void {
    const taken = this.#retrying ? 'nothing' : this.#take(line, LONGEST_WAIT_MS)
    if (taken === 'whole') return
    this.#retrying ??= setInterval(() => this.#retry(), this.#retryMs).unref()
    if (taken === 'begun') return
    this.#lost += 1
    this.#missing += 1
  }

  /** Finishes a line that was partly written, and then writes how many lines are missing. */
  #retry(): void {
    const taken = this.#take(this.#missing === 0 ? '' : this.#tellLost(this.#missing), 0)
    if (taken !== 'nothing') this.#missing = 0
    if (taken !== 'whole') return
    clearInterval(this.#retrying)
    this.#retrying = undefined
  }

  #take(line: string, longestWaitMs: number): 'whole' | 'begun' | 'nothing' {
    try {
      this.#lines.write(line, longestWaitMs)
      return 'whole'
    } catch (error) {
      return error instanceof CutShort && error.begun > 0 ? 'begun' : 'nothing'
    }
  }
}
