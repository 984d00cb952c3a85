/** Where the keys of a grid lead. */

export interface Spot {
  readonly row: number
  readonly column: number
}

interface Size {
  readonly rows: number
  readonly columns: number
}

const PAGE = 10

type Step = (at: Spot, isWhole: boolean) => Spot

const STEPS: Readonly<Record<string, Step>> = {
  ArrowUp: (at) => ({ ...at, row: at.row - 1 }),
  ArrowDown: (at) => ({ ...at, row: at.row + 1 }),
  ArrowLeft: (at) => ({ ...at, column: at.column - 1 }),
  ArrowRight: (at) => ({ ...at, column: at.column + 1 }),
  PageUp: (at) => ({ ...at, row: at.row - PAGE }),
  PageDown: (at) => ({ ...at, row: at.row + PAGE }),
  Home: (at, isWhole) => ({ row: isWhole ? 0 : at.row, column: 0 }),
  End: (at, isWhole) => ({ row: isWhole ? Number.POSITIVE_INFINITY : at.row, column: Number.POSITIVE_INFINITY }),
}

/** Undefined for a key that doesn't move. */
export function moved(event: Pick<KeyboardEvent, 'key' | 'ctrlKey'>, at: Spot, { rows, columns }: Size) {
  const to = STEPS[event.key]?.(at, event.ctrlKey)
  return to && { row: within(to.row, rows), column: within(to.column, columns) }
}

function within(value: number, size: number): number {
  return Math.max(0, Math.min(value, size - 1))
}
