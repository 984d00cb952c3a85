/** Gathers the questions of one turn of the event loop, so that they become one request, or several of bounded size. */
import type { Decision } from './entities.ts'
import { AuthzenError } from './error.ts'

/** Asks the server; both are given questions as JSON, and the milliseconds that are left. */
export interface Asks {
  one(question: string, timeoutMs: number): Promise<Decision>
  /** One result for each question, or an error for all of them. */
  many(questions: readonly string[], timeoutMs: number): Promise<readonly (Decision | AuthzenError)[]>
}

interface Waiting {
  readonly question: string
  resolve(decision: Decision): void
  reject(error: unknown): void
}

export interface Bounds {
  readonly most: number
  readonly mostBytes: number
}

/** The whole batch is refused for one question's sake: for its form, or for its size. */
const ONE_SPOILS_ALL: ReadonlySet<unknown> = new Set([400, 413, 422])

/** There is no such endpoint. */
const NOT_OFFERED: ReadonlySet<unknown> = new Set([404, 405, 501])

export class Batches {
  readonly #asks: Asks
  readonly #bounds: Bounds
  readonly #timeoutMs: number
  #waiting: Waiting[] = []
  #offered = true

  constructor(asks: Asks, bounds: Bounds, timeoutMs: number) {
    this.#asks = asks
    this.#bounds = bounds
    this.#timeoutMs = timeoutMs
  }

  ask(question: string): Promise<Decision> {
    return new Promise((resolve, reject) => {
      // What arrives with the same turn of the event loop, of other requests too, goes along.
      if (this.#waiting.length === 0) setImmediate(() => this.#send())
      this.#waiting.push({ question, resolve, reject })
    })
  }

  #send(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const part of split(waiting, this.#offered ? this.#bounds : { most: 1, mostBytes: 0 })) void this.#answer(part)
  }

  /** Never rejects. */
  async #answer(part: readonly Waiting[]): Promise<void> {
    const until = performance.now() + this.#timeoutMs
    const [first] = part
    if (part.length === 1 && first) return this.#answerOne(first, until)
    try {
      const results = await this.#asks.many(
        part.map(({ question }) => question),
        this.#timeoutMs,
      )
      for (const [i, { resolve, reject }] of part.entries()) {
        const result = results[i]
        if (result && 'decision' in result) resolve(result)
        else reject(result)
      }
    } catch (error) {
      if (this.#isFaultOfOne(error)) await Promise.all(part.map((one) => this.#answerOne(one, until)))
      else for (const { reject } of part) reject(error)
    }
  }

  /** In the time that is left. */
  async #answerOne({ question, resolve, reject }: Waiting, until: number): Promise<void> {
    try {
      resolve(await this.#asks.one(question, Math.max(1, until - performance.now())))
    } catch (error) {
      reject(error)
    }
  }

  /** Nothing was decided, so that each question may be asked alone: its neighbours shouldn't fail with it. */
  #isFaultOfOne(error: unknown): boolean {
    if (!(error instanceof AuthzenError)) return false
    if (NOT_OFFERED.has(error.status)) this.#offered = false
    return NOT_OFFERED.has(error.status) || ONE_SPOILS_ALL.has(error.status)
  }
}

/** In order; a question that is too large stands alone. */
export function split<T extends { readonly question: string }>(
  all: readonly T[],
  { most, mostBytes }: Bounds,
): readonly (readonly T[])[] {
  const parts: T[][] = []
  let bytes = 0
  for (const one of all) {
    const length = Buffer.byteLength(one.question) + 1
    const last = parts.at(-1)
    if (last && last.length < most && bytes + length <= mostBytes) {
      last.push(one)
      bytes += length
    } else {
      parts.push([one])
      bytes = length
    }
  }
  return parts
}
