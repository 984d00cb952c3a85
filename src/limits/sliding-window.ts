/** The counts of one key in memory, by the rules of window.ts: a ring of sub-windows. Times are whole microseconds. */
import { COUNTED, SUB_WINDOWS } from './window.ts'

export class SlidingWindow {
  private step: number
  /** Number of the present sub-window. */
  private index: number
  /** Requests admitted in sub-window i at i modulo COUNTED. */
  private readonly counts: number[] = new Array<number>(COUNTED).fill(0)
  private total = 0

  constructor(step: number, nowMicros: number) {
    this.step = step
    this.index = Math.floor(nowMicros / step)
  }

  /** Requests that count at the time of the last `moveTo`. */
  get used(): number {
    return this.total
  }

  /** From then on nothing counts. */
  get endsAtMicros(): number {
    return (this.index + COUNTED) * this.step
  }

  moveTo(step: number, nowMicros: number): void {
    const passed = Math.floor(nowMicros / this.step) - this.index
    if (passed > 0) this.advance(passed)
    if (step !== this.step || passed < -1) this.fold(step, Math.floor(nowMicros / step))
  }

  /** One more request, in the present sub-window. */
  count(): void {
    this.add(this.index, 1)
  }

  /** When one more than now would be admitted; 0 if nothing counts. */
  freesAtMicros(allow: number): number {
    let excess = Math.max(0, this.total - Math.max(1, allow))
    for (let index = this.oldest(); index <= this.index; index++) {
      excess -= this.at(index)
      if (excess < 0) return (index + COUNTED) * this.step
    }
    return 0
  }

  private fold(step: number, index: number): void {
    const { total } = this
    this.step = step
    this.index = index
    this.total = 0
    this.counts.fill(0)
    this.add(index, total)
  }

  private advance(passed: number): void {
    const present = this.index + passed
    for (let next = Math.max(this.index + 1, present - SUB_WINDOWS); next <= present; next++) this.empty(next)
    this.index = present
  }

  private oldest(): number {
    return Math.max(0, this.index - SUB_WINDOWS)
  }

  private at(index: number): number {
    return this.counts[index % COUNTED] ?? 0
  }

  private empty(index: number): void {
    this.add(index, -this.at(index))
  }

  private add(index: number, requests: number): void {
    this.counts[index % COUNTED] = this.at(index) + requests
    this.total += requests
  }
}
