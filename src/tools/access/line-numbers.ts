/** Numbers of lines, as people write them: `1-40,42`, in order. */

const NUMBERS = /^[1-9]\d{0,6}(-[1-9]\d{0,6})?(,[1-9]\d{0,6}(-[1-9]\d{0,6})?)*$/

export function isNumbers(text: unknown): text is string {
  return typeof text === 'string' && NUMBERS.test(text) && isInOrder(boundsIn(text))
}

/** An empty text has none. */
export function numbersIn(text: string): readonly number[] {
  if (text === '') return []
  return boundsIn(text).flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, i) => first + i))
}

/** `numbers`: in order. */
export function numbersText(numbers: readonly number[]): string {
  const ranges: [number, number][] = []
  for (const number of numbers) {
    const last = ranges.at(-1)
    if (last?.[1] === number - 1) last[1] = number
    else ranges.push([number, number])
  }
  return ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join()
}

type Bounds = readonly [first: number, last: number]

function boundsIn(text: string): readonly Bounds[] {
  return text.split(',').map((part) => {
    const [first = 0, last = first] = part.split('-').map(Number)
    return [first, last]
  })
}

function isInOrder(all: readonly Bounds[]): boolean {
  return all.every(([first, last], i) => first <= last && first > (all[i - 1]?.[1] ?? 0))
}
