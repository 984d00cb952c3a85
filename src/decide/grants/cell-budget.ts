/**
 * The number of cells that a snapshot keeps. Callers whose relations differ in ever new ways could otherwise fill the
 * memory; beyond the bound all cells are forgotten, and made again as they are needed.
 */
import { KeptConditions } from './kept-conditions.ts'

/** About 100 MB, if each cell has its own fields and rules; real policies have some hundreds. */
const MOST_CELLS = 100_000

interface Keeper {
  forgetCells(): void
}

export class CellBudget {
  readonly conditions = new KeptConditions()
  readonly #most: number
  readonly #keepers = new Set<Keeper>()
  #taken = 0

  constructor(most = MOST_CELLS) {
    this.#most = most
  }

  get taken(): number {
    return this.#taken
  }

  /** No longer counts the cells of this keeper. */
  leave(keeper: Keeper, cells: number): void {
    if (this.#keepers.delete(keeper)) this.#taken -= cells
  }

  /** Counts a cell that this keeper is about to keep. */
  take(keeper: Keeper): void {
    if (this.#taken >= this.#most) {
      for (const one of this.#keepers) one.forgetCells()
      this.#keepers.clear()
      this.#taken = 0
    }
    this.#keepers.add(keeper)
    this.#taken += 1
  }
}
