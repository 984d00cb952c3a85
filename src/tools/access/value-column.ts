/** One field of all objects of a resource: its values as numbers, to find values by row and rows by value. */

/** Above the number of rows; with the number of a value it stays exact. */
const ROWS = 2 ** 26
const ROWS_AT_FIRST = 1024

/** The values of one field, by their numbers. */
export class ValueColumn {
  /** By row: the number of the only value, or -1 - the place in `#lists`. Grown without a copy that waits for its end. */
  #only = new Int32Array(ROWS_AT_FIRST)
  #rows = 0
  readonly #lists: (readonly number[])[] = []
  /** The number of a value and the row, sorted. */
  #sorted: Float64Array | undefined

  add(numbers: readonly number[]): void {
    const [only = 0] = numbers
    if (this.#rows === this.#only.length) this.#only = new Int32Array(this.#only.buffer.transfer(8 * this.#rows))
    this.#only[this.#rows] = numbers.length < 2 ? only : -this.#lists.push(numbers)
    this.#rows += 1
  }

  numbersOf(row: number): readonly number[] {
    const only = this.#only[row] ?? 0
    if (only < 0) return this.#lists[-only - 1] ?? []
    return only === 0 ? [] : [only]
  }

  most(numbers: ReadonlySet<number>): number {
    let sum = 0
    for (const one of numbers) sum += this.#firstAt(one + 1) - this.#firstAt(one)
    return sum
  }

  having(numbers: ReadonlySet<number>): Iterable<number> {
    const found: number[] = []
    for (const one of numbers) {
      const end = this.#firstAt(one + 1)
      for (let i = this.#firstAt(one); i < end; i += 1) found.push((this.#byValue[i] ?? 0) % ROWS)
    }
    return this.#lists.length > 0 ? new Set(found) : found
  }

  get #byValue(): Float64Array {
    if (this.#sorted) return this.#sorted
    let length = 0
    for (let row = 0; row < this.#rows; row += 1) length += this.numbersOf(row).length
    const sorted = new Float64Array(length)
    let i = 0
    for (let row = 0; row < this.#rows; row += 1) {
      for (const one of this.numbersOf(row)) {
        sorted[i] = one * ROWS + row
        i += 1
      }
    }
    this.#sorted = sorted.sort()
    return sorted
  }

  #firstAt(number: number): number {
    const sorted = this.#byValue
    let [from, to] = [0, sorted.length]
    while (from < to) {
      const middle = (from + to) >>> 1
      if ((sorted[middle] ?? 0) < number * ROWS) from = middle + 1
      else to = middle
    }
    return from
  }
}
