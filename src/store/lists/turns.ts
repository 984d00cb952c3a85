/** Reads that wait for their turn: however many of one caller wait, another one's begins as soon as any read ends. */
import { type Most, UnderWay } from '../../base/under-way.ts'
import type { ReadBy } from '../contract.ts'
import { TooManyReads } from '../errors.ts'

/** A read that waits longer is refused: it is behind many of its own caller. */
const WITHIN_MS = 5000

export class Turns {
  readonly #underWay: UnderWay
  readonly #withinMs: number
  /** By caller, in rotation. */
  readonly #waiting = new Map<string, Set<() => void>>()

  constructor(most: Most, withinMs = WITHIN_MS) {
    this.#underWay = new UnderWay(most, () => new TooManyReads())
    this.#withinMs = withinMs
  }

  /** Rejects with what the read rejects with, with the reason why `by` is gone, and with TooManyReads. */
  run<T>(by: ReadBy, read: () => Promise<T>): Promise<T> {
    const begin = () => this.#underWay.run(by.whose, read).finally(() => this.#beginNext())
    return this.#underWay.isFree(by.whose) ? begin() : this.#wait(by, begin)
  }

  #wait<T>({ whose, gone, mayBegin }: ReadBy, begin: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const waiting = this.#waiting.getOrInsertComputed(whose, () => new Set())
    const take = () => {
      waiting.delete(take)
      try {
        mayBegin?.()
        resolve(begin())
      } catch (error) {
        reject(error)
      }
    }
    const leave = (reason: unknown) => {
      waiting.delete(take)
      reject(reason)
    }
    waiting.add(take)
    const late = setTimeout(() => leave(new TooManyReads()), this.#withinMs)
    const signal = gone?.()
    if (signal?.aborted) leave(signal.reason)
    else signal?.addEventListener('abort', () => leave(signal.reason), { once: true })
    return promise.finally(() => clearTimeout(late))
  }

  #beginNext(): void {
    for (const [caller, waiting] of this.#waiting) {
      if (!this.#underWay.isFree(caller)) continue
      this.#waiting.delete(caller)
      const [take] = waiting
      take?.()
      // At the end of the rotation, where this loop meets it again.
      if (waiting.size > 0) this.#waiting.set(caller, waiting)
    }
  }
}
