/** What this process is at work on, by name: what comes twice at a time is told to come again. */
import { Problem } from '../../base/problems/problem.ts'

export class InFlight {
  readonly #names = new Set<string>()

  /** Throws Problem idempotency-in-flight while the same name is at work, or what the work throws. */
  async only<T>(name: string, work: () => Promise<T>): Promise<T> {
    if (this.#names.has(name)) throw inFlight()
    this.#names.add(name)
    try {
      return await work()
    } finally {
      this.#names.delete(name)
    }
  }
}

function inFlight(): Problem {
  const detail = 'The first request with this idempotency key is not answered yet; repeat it later.'
  return new Problem('idempotency-in-flight', detail, { headers: { 'Retry-After': '1' } })
}
