/**
 * What of the decision log one caller may fill in a day. The files of a log have a size, and the oldest is deleted: a
 * caller who could fill them all would delete what others did, and what it did itself.
 */
import { LRUCache } from 'lru-cache'
import { monotonicMs } from '../base/time.ts'
import { callerKey } from '../decide/caller.ts'
import { SlidingWindow, stepMicros } from '../limits/sliding-window.ts'
import type { DecisionRecord } from './decision-record.ts'

/** A share is for a day. */
const STEP_MICROS = stepMicros({ windowMs: 86_400_000 })

/** The callers that wrote last. Each takes some hundred bytes of memory. */
const MOST_CALLERS = 10_000

const MINUTE_MS = 60_000

/**
 * Of one caller in a minute, refusals by a limit that have a record each. Of the others, the 2nd, 4th, 8th … has one. A
 * full share has no minutes: such refusals go on for a day, and alone would fill a small log.
 */
const RECORDED_EACH = 100

export interface LogSharesOptions {
  /** In bytes; infinite where no file of the log is ever deleted. */
  readonly share: number
  /** Somebody used up a share. */
  readonly report?: () => void
  /** Milliseconds, 0 or more; monotonic. */
  readonly now?: () => number
}

interface SharedWriter {
  readonly written: SlidingWindow
  isReported: boolean
  refusals: { since: number; count: number; left: number }
}

/** Whoever fills the log has the name that `callerKey` gives. */
export class LogShares {
  readonly #share: number
  readonly #report: () => void
  readonly #now: () => number
  readonly #writers = new LRUCache<string, SharedWriter>({ maxSize: MOST_CALLERS, sizeCalculation: () => 1 })

  constructor({ share, report = () => {}, now = monotonicMs }: LogSharesOptions) {
    this.#share = share
    this.#report = report
    this.#now = now
  }

  /** Milliseconds until this caller's requests may write again; 0 if they may now. */
  waitMs(whose: string): number {
    const writer = this.#writers.get(whose)
    if (!writer) return 0
    if (!this.#isFull(writer)) {
      writer.isReported = false
      return 0
    }
    if (!writer.isReported) this.#report()
    writer.isReported = true
    return Math.max(1, (writer.written.freesAtMicros(this.#share) - this.#micros()) / 1000)
  }

  /** Counts a record of so many bytes. */
  spend(whose: string, bytes: number): void {
    if (this.#share === Number.POSITIVE_INFINITY) return
    const { written } = this.#writerOf(whose)
    written.moveTo(STEP_MICROS, this.#micros())
    written.count(bytes)
  }

  /** The record as it is to be written; undefined for one of many alike refusals, which a later one stands for. */
  toWrite(record: DecisionRecord): DecisionRecord | undefined {
    if (record.problem !== 'quota-exceeded' || this.#share === Number.POSITIVE_INFINITY) return record
    const writer = this.#writerOf(logWriterOf(record))
    const { refusals } = writer
    const now = this.#now()
    if (now - refusals.since >= MINUTE_MS && !this.#isFull(writer)) {
      refusals.since = now
      refusals.count = 0
    }
    refusals.count += 1
    const beyond = refusals.count - RECORDED_EACH
    if (beyond > 0 && (beyond & (beyond - 1)) !== 0) {
      refusals.left += 1
      return undefined
    }
    const repeated = refusals.left + 1
    refusals.left = 0
    return repeated === 1 ? record : { ...record, repeated }
  }

  #isFull({ written }: SharedWriter): boolean {
    written.moveTo(STEP_MICROS, this.#micros())
    return written.used >= this.#share
  }

  #writerOf(whose: string): SharedWriter {
    const known = this.#writers.get(whose)
    if (known) return known
    const written = new SlidingWindow(STEP_MICROS, this.#micros())
    const made = { written, isReported: false, refusals: { since: this.#now(), count: 0, left: 0 } }
    this.#writers.set(whose, made)
    return made
  }

  #micros(): number {
    return Math.floor(this.#now() * 1000)
  }
}

export function logWriterOf({ authentication, subject, address = '' }: DecisionRecord): string {
  return callerKey({
    caller: authentication === 'caller' && subject !== undefined ? { id: subject } : undefined,
    address,
  })
}
