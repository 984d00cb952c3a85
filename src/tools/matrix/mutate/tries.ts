/** The requests that were tried to show that two policies answer differently: a bounded number, and what to say of them. */

import type { Cell } from '../predict/arrange-world.ts'
import { columnText } from '../read/expectation.ts'

const MOST_TRIED = 10_000

/** More routes and callers aren't named one by one. */
const MOST_NAMED = 4

export class Tries {
  #requests = 0
  readonly #routes = new Set<string>()
  readonly #callers = new Set<string>()

  /** Counts a request; false if it would be one too many. */
  count({ method, path, column }: Cell): boolean {
    if (this.#requests >= MOST_TRIED) return false
    this.#requests++
    this.#routes.add(`${method} ${path}`)
    this.#callers.add(columnText(column))
    return true
  }

  /** `34 requests: GET /api/orders, PATCH /api/orders/{id}, as member, support` */
  get text(): string {
    if (this.#requests === 0) return 'no request: no row of a matrix is about this'
    const requests = this.#requests === 1 ? '1 request' : `${this.#requests} requests`
    return `${requests}: ${named(this.#routes)}, as ${named(this.#callers)}`
  }
}

function named(names: ReadonlySet<string>): string {
  const more = names.size - MOST_NAMED
  const some = [...names].slice(0, MOST_NAMED).join(', ')
  return more > 0 ? `${some} and ${more} more` : some
}
