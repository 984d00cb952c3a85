/** A tree that only grows: it holds the tiles that aren't full yet, and passes full ones on. */
import { rootOf, type TreeHash } from './merkle.ts'
import { TILE_HASHES, type Tile } from './tiles.ts'

export class GrowingTree {
  #size: number
  /** The tile at the end of each level; level 0 has the leaves. */
  readonly #ends: TreeHash[][]
  #full: Tile[] = []

  /** `ends`: of the tree that has this size. */
  constructor(size = 0, ends: readonly (readonly TreeHash[])[] = []) {
    this.#size = size
    this.#ends = ends.map((hashes) => [...hashes])
  }

  get size(): number {
    return this.#size
  }

  add(leaf: TreeHash): void {
    this.#size += 1
    this.#push(0, leaf)
  }

  /** Each level's end is the last, smaller part of the level above. */
  root(): TreeHash {
    let below: readonly TreeHash[] = []
    for (const end of this.#ends) {
      const all = [...end, ...below]
      below = all.length > 0 ? [rootOf(all)] : []
    }
    return rootOf(below)
  }

  /** The tiles that got full, and forgets them. */
  takeFull(): readonly Tile[] {
    const taken = this.#full
    this.#full = []
    return taken
  }

  /** The tiles that aren't full. */
  partial(): readonly Tile[] {
    return this.#ends.flatMap((hashes, level) =>
      hashes.length === 0 ? [] : [{ level, number: this.#numberAt(level), hashes: [...hashes] }],
    )
  }

  #push(level: number, one: TreeHash): void {
    this.#ends[level] ??= []
    const end = this.#ends[level]
    end.push(one)
    if (end.length < TILE_HASHES) return
    this.#full.push({ level, number: this.#numberAt(level) - 1, hashes: end })
    this.#ends[level] = []
    this.#push(level + 1, rootOf(end))
  }

  #numberAt(level: number): number {
    return Math.floor(this.#size / TILE_HASHES ** (level + 1))
  }
}
