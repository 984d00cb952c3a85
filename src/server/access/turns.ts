/**
 * Long work of requests, such as a batch, runs in slices: one slice in a turn of the event loop, and callers in turn. So
 * other requests wait for one slice, however many batches are under way, and no caller's batches hold up another's.
 */
import { Problem } from '../../base/problems/problem.ts'
import { type Most, UnderWay } from '../../base/under-way.ts'
import type { Caller } from '../../decide/caller.ts'

/** The most long requests under way (docs/authzen.md): each keeps its body and its answer in memory. */
const MOST: Most = { ofCaller: 32, ofAll: 128 }

export class Turns {
  /** By caller, in rotation. */
  readonly #waiting = new Map<string, (() => void)[]>()
  readonly #underWay: UnderWay
  #isTaken = false

  constructor(most: Most = MOST) {
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
      this.#waiting.getOrInsertComputed(caller, () => []).push(begin)
    })
  }

  #take(): void {
    this.#isTaken = true
    setImmediate(() => this.#pass())
  }

  #pass(): void {
    this.#isTaken = false
    const [first] = this.#waiting
    if (!first) return
    const [caller, [begin, ...others]] = first
    this.#waiting.delete(caller)
    if (others.length > 0) this.#waiting.set(caller, others)
    this.#take()
    begin?.()
  }
}

/** Whose work it is. `address`: of the client, as limits count it. */
export function callerKey({ caller, address }: { readonly caller: Caller | undefined; readonly address: string }) {
  return caller ? `s:${caller.id}` : `a:${address}`
}

/** `what`: e.g. "batches and searches". */
export function tooManyUnderWay(what: string): Problem {
  const detail = `Too many ${what} are under way; send them one after another, and try again in 1 s.`
  return new Problem('quota-exceeded', detail, {
    headers: { 'Retry-After': '1' },
    members: { 'violated-policies': ['under-way'] },
  })
}
