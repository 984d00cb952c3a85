/**
 * Long work of requests, such as a batch, runs in slices: one slice in a turn of the event loop, and callers in turn. So
 * other requests wait for one slice, however many batches are under way, and no caller's batches hold up another's.
 */
import { Problem } from '../../base/problems/problem.ts'

interface Most {
  readonly ofCaller: number
  readonly ofAll: number
}

/** The most long requests under way (docs/authzen.md): each keeps its body and its answer in memory. */
const MOST: Most = { ofCaller: 32, ofAll: 128 }

export class Turns {
  readonly #most: Most
  /** By caller, in rotation. */
  readonly #waiting = new Map<string, (() => void)[]>()
  readonly #underWay = new Map<string, number>()
  #all = 0
  #isTaken = false

  constructor(most: Most = MOST) {
    this.#most = most
  }

  /** Runs long work of this caller. Throws Problem quota-exceeded with too many under way, and what the work throws. */
  async run<T>(caller: string, work: () => Promise<T>): Promise<T> {
    const own = this.#underWay.get(caller) ?? 0
    if (own >= this.#most.ofCaller || this.#all >= this.#most.ofAll) throw tooMany()
    this.#underWay.set(caller, own + 1)
    this.#all += 1
    try {
      return await work()
    } finally {
      this.#all -= 1
      const left = (this.#underWay.get(caller) ?? 1) - 1
      if (left === 0) this.#underWay.delete(caller)
      else this.#underWay.set(caller, left)
    }
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

function tooMany(): Problem {
  const detail = 'Too many batches and searches are under way; send them one after another, and try again in 1 s.'
  return new Problem('quota-exceeded', detail, {
    headers: { 'Retry-After': '1' },
    members: { 'violated-policies': ['under-way'] },
  })
}
