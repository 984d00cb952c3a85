/** Whole microseconds as the milliseconds that a limiter's clock gives: the middle of one, so that rounding hits the same. */
export function milliseconds(micros: number): number {
  return (micros + 0.5) / 1000
}
