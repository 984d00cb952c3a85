/** Sizes and durations as limits.yaml writes them, exactly: never rounded, so that what differs reads differently. */

const SIZES = [
  ['mb', 1024 * 1024],
  ['kb', 1024],
  ['b', 1],
] as const

const DURATIONS = [
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
] as const

export function sizeText(bytes: number): string {
  return inUnits(bytes, SIZES)
}

export function durationText(milliseconds: number): string {
  return inUnits(milliseconds, DURATIONS)
}

/** In the largest unit of which it is a whole number. */
function inUnits(value: number, units: readonly (readonly [string, number])[]): string {
  const [unit, size] = units.find(([, one]) => value % one === 0) ?? ['', 1]
  return `${value / size}${unit}`
}
