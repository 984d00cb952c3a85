/** The scan that a sliding window must pass: how many admissions the fullest window holds. */

/** The most times within any window of `length`, both ends counted. */
export function fullestWindow(times: readonly number[], length: number): number {
  const sorted = times.toSorted((a, b) => a - b)
  let first = 0
  let most = 0
  for (const [last, time] of sorted.entries()) {
    while (time - (sorted[first] ?? time) > length) first += 1
    most = Math.max(most, last - first + 1)
  }
  return most
}
