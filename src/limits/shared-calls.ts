/**
 * Joins the requests of one turn of the event loop into one call: a call for each request was most of their cost, here
 * and in Redis.
 */
import type { Quota } from './limiter.ts'

/** A call with more requests is sent at once: other clients of the same Redis wait while it decides. */
const REQUESTS_AT_MOST = 32

/** The requests of one call. */
export interface RequestBatch {
  /** Different keys. */
  readonly quotas: readonly Quota[]
  /** For each request, in the order of the decisions, the positions in `quotas` that it counts against. */
  readonly requests: readonly (readonly number[])[]
}

interface Waiting<Answer> {
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

/**
 * `call` returns the answers in the order of the requests; if it rejects, each request rejects. The keys of a request
 * must differ.
 */
export function shareCalls<Answer>(
  call: (asked: RequestBatch) => Promise<readonly Answer[]>,
): (quotas: readonly Quota[]) => Promise<Answer> {
  let open = new SharedCall<Answer>()

  function send(): void {
    const full = open
    if (full.requests.length === 0) return
    open = new SharedCall()
    call(full).then(full.settle, full.fail)
  }

  return (quotas) => {
    if (open.requests.length === REQUESTS_AT_MOST || !open.agreesWith(quotas)) send()
    if (open.requests.length === 0) setImmediate(send)
    return open.add(quotas)
  }
}

class SharedCall<Answer> implements RequestBatch {
  readonly quotas: Quota[] = []
  readonly requests: number[][] = []
  readonly #positions = new Map<string, number>()
  readonly #waiting: Waiting<Answer>[] = []

  /** A new policy may give a key another limit: requests under the two limits can't be decided in one call. */
  agreesWith(quotas: readonly Quota[]): boolean {
    return quotas.every(({ key, allow, windowMs }) => {
      const known = this.quotas[this.#positions.get(key) ?? -1]
      return known === undefined || (known.allow === allow && known.windowMs === windowMs)
    })
  }

  add(quotas: readonly Quota[]): Promise<Answer> {
    this.requests.push(quotas.map((quota) => this.#positionOf(quota)))
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
    })
  }

  readonly settle = (answers: readonly Answer[]): void => {
    for (const [i, { resolve }] of this.#waiting.entries()) resolve(answers[i] as Answer)
  }

  readonly fail = (error: unknown): void => {
    for (const { reject } of this.#waiting) reject(error)
  }

  #positionOf(quota: Quota): number {
    const known = this.#positions.get(quota.key)
    if (known !== undefined) return known
    this.#positions.set(quota.key, this.quotas.length)
    return this.quotas.push(quota) - 1
  }
}
