/** What is computed of the numbers of one field: exact, and the same in every order. */
import { DecimalSum, decimalText } from '../../base/decimal.ts'
import type { NumbersFound } from '../contract.ts'

export class NumbersSeen {
  #count = 0
  readonly #sum = new DecimalSum()
  #least = Number.POSITIVE_INFINITY
  #most = Number.NEGATIVE_INFINITY

  /** Other values don't count. */
  add(value: unknown): this {
    if (typeof value !== 'number') return this
    this.#count += 1
    this.#sum.add(value)
    if (value < this.#least) this.#least = value
    if (value > this.#most) this.#most = value
    return this
  }

  get found(): NumbersFound {
    const sum = decimalText(this.#sum.total)
    if (this.#count === 0) return { count: 0, sum, least: null, most: null }
    return { count: this.#count, sum, least: String(this.#least), most: String(this.#most) }
  }
}
