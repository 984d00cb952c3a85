/**
 * Work that takes long in the thread that answers requests: one slice in a turn of the event loop, and callers in turn.
 * So other requests wait for one slice, however much work is under way, and no caller's work holds up another's. A slice
 * is a part of a batch or a search; or a decision, if decisions have taken as long as a slice in this turn.
 */
import { Problem } from '../base/problems/problem.ts'
import { monotonicMs } from '../base/time.ts'
import { type Most, UnderWay } from '../base/under-way.ts'

/** In milliseconds: other requests wait no longer for a slice, unless one question takes longer. */
export const SLICE_MS = 5

/** In milliseconds. Most decisions take some 10 µs; they aren't counted. */
const LONG_MS = 0.5

/** The most long requests under way (docs/authzen.md): each keeps its body and its answer in memory. */
const MOST: Most = { ofCaller: 32, ofAll: 128 }

export class SliceQueue {
  /** By caller, in rotation. */
  readonly #waiting = new Map<string, (() => void)[]>()
  readonly #underWay: UnderWay
  #isTaken = false
  #isEnding = false
  /** Milliseconds of long decisions in this turn of the event loop. */
  #spent = 0

  readonly #clock: () => number

  /** `clock`: milliseconds since some time. */
  constructor(most: Most = MOST, clock = monotonicMs) {
    this.#clock = clock
    this.#underWay = new UnderWay(most, () => tooManyUnderWay('batches and searches'))
  }

  /** Runs long work of this caller. Throws Problem quota-exceeded with too many under way, and what the work throws. */
  run<T>(caller: string, work: () => Promise<T>): Promise<T> {
    return this.#underWay.run(caller, work)
  }

  /** When this caller's next slice may begin: at once, where no other has run in this turn of the event loop. */
  next(caller: string): void | Promise<void> {
    if (!this.#isTaken) {
      this.#take()
      return
    }
    return new Promise((begin) => {
      this.#wait(caller, () => {
        this.#take()
        begin()
      })
    })
  }

  /**
   * Decides at once, or in the turn of this caller, if a slice or long decisions have taken this one. A decision that
   * many objects are looked up for takes milliseconds, which nobody knows before, and can't be cut: it sees one state.
   * `gone`: aborts when nobody waits for it any more. Throws what `decide` throws, and the reason of `gone`.
   */
  decide<T>(caller: () => string, gone: () => AbortSignal, decide: () => T | Promise<T>): T | Promise<T> {
    if (!this.#isTaken) return this.#measured(decide)
    return new Promise((resolve, reject) => {
      this.#wait(caller(), () => {
        try {
          gone().throwIfAborted()
          resolve(this.#measured(decide))
        } catch (error) {
          reject(error)
        }
      })
    })
  }

  #measured<T>(work: () => T): T {
    const begun = this.#clock()
    try {
      return work()
    } finally {
      const ms = this.#clock() - begun
      if (ms >= LONG_MS) this.#spend(ms)
    }
  }

  #spend(ms: number): void {
    this.#spent += ms
    if (this.#spent >= SLICE_MS) this.#take()
    else this.#endSoon()
  }

  #take(): void {
    this.#isTaken = true
    this.#endSoon()
  }

  #endSoon(): void {
    if (this.#isEnding) return
    this.#isEnding = true
    setImmediate(() => this.#pass())
  }

  #wait(caller: string, begin: () => void): void {
    this.#waiting.getOrInsertComputed(caller, () => []).push(begin)
  }

  /** The next turn: short decisions, until one slice or as much has begun or has gone by. */
  #pass(): void {
    this.#isTaken = false
    this.#isEnding = false
    this.#spent = 0
    const begun = this.#clock()
    for (const [caller, [begin, ...others]] of this.#waiting) {
      this.#waiting.delete(caller)
      if (others.length > 0) this.#waiting.set(caller, others)
      begin?.()
      if (!this.#isTaken && this.#clock() - begun >= SLICE_MS) this.#take()
      if (this.#isTaken) return
    }
  }
}

/** `what`: e.g. "batches and searches". */
export function tooManyUnderWay(what: string): Problem {
  const detail = `Too many ${what} are under way; send them one after another, and try again in 1 s.`
  return new Problem('quota-exceeded', detail, {
    headers: { 'Retry-After': '1' },
    members: { 'violated-policies': ['under-way'] },
  })
}
