/**
 * The hashes of a tree in files, as C2SP's tlog-tiles lays them out (https://c2sp.org/tlog-tiles): each file has up to 256
 * hashes of one level; a level's hash stands for 256 of the level below. The entries themselves stay in the log.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { LRUCache } from 'lru-cache'
import { replaceFile } from '../../base/files/durable-file.ts'
import { makeFolder } from '../../base/files/make-folder.ts'
import { consistencyProof, HASH_BYTES, inclusionProof, rootOf, type TreeHash } from './merkle.ts'
import { readIfThere } from './read-if-there.ts'

export const TILE_HASHES = 256

export interface Tile {
  readonly level: number
  /** Among the tiles of its level. */
  readonly number: number
  readonly hashes: readonly TreeHash[]
}

/** The last part of an index has three digits; those before it begin with x. */
function tilePath({ level, number }: Omit<Tile, 'hashes'>, width = TILE_HASHES): string {
  const digits = `${number}`.padStart(Math.ceil(`${number}`.length / 3) * 3, '0').match(/\d{3}/g) ?? []
  const name = digits.map((one, at) => (at < digits.length - 1 ? `x${one}` : one)).join('/')
  return `tile/${level}/${name}${width < TILE_HASHES ? `.p/${width}` : ''}`
}

export async function writeTile(folder: string, tile: Tile): Promise<void> {
  const file = join(folder, tilePath(tile, tile.hashes.length))
  await makeFolder(dirname(file))
  await replaceFile(file, Buffer.from(tile.hashes.join(''), 'latin1'), 0o600)
}

/**
 * Removes a tile that wasn't full, once a checkpoint needs another one. `isFull`: by now; then all of this number go,
 * also those that a killed process left.
 */
export async function removePartial(folder: string, tile: Tile, isFull: boolean): Promise<void> {
  const path = isFull ? `${tilePath(tile)}.p` : tilePath(tile, tile.hashes.length)
  await rm(join(folder, path), { recursive: true, force: true })
}

const MINIMUM = 'minimum'

/** The first leaf whose tile is kept. */
export async function minimumOf(folder: string): Promise<number> {
  const text = (await readIfThere(join(folder, MINIMUM))) ?? '0'
  return /^\d{1,15}\n?$/.test(text) ? Number(text) : 0
}

/** Removes the tiles of leaves before this one. Roots and proofs of later leaves need the levels above alone. */
export async function removeTilesBefore(folder: string, first: number): Promise<void> {
  const before = Math.floor((await minimumOf(folder)) / TILE_HASHES)
  const minimum = Math.floor(first / TILE_HASHES)
  await replaceFile(join(folder, MINIMUM), `${minimum * TILE_HASHES}\n`, 0o600)
  for (let number = before; number < minimum; number++) {
    await rm(join(folder, tilePath({ level: 0, number })), { force: true })
  }
}

/** A file of hashes is missing, or has another size. */
export class UnusableTile extends Error {
  readonly path: string
  constructor(path: string) {
    super(`${path} is missing or damaged`)
    this.name = 'UnusableTile'
    this.path = path
  }
}

const KEPT_TILES = 64

/** A tree of this size as its files tell it. Throws UnusableTile. */
export class TileTree {
  readonly size: number
  readonly #folder: string
  readonly #tiles = new LRUCache<string, readonly TreeHash[]>({ max: KEPT_TILES })

  constructor(folder: string, size: number) {
    this.#folder = folder
    this.size = size
  }

  /** The first leaf of the tile that has the newest one. */
  get startOfLastTile(): number {
    return Math.floor(Math.max(0, this.size - 1) / TILE_HASHES) * TILE_HASHES
  }

  leaf(index: number): TreeHash {
    return this.#hash(0, index)
  }

  /** The hashes of the tile that isn't full; none if there is no such tile. */
  partial(level: number): readonly TreeHash[] {
    const whole = Math.floor(this.size / TILE_HASHES ** level)
    return whole % TILE_HASHES === 0 ? [] : this.#tile(level, Math.floor(whole / TILE_HASHES))
  }

  /** Of the tree as it was when it had so many leaves. */
  root(size = this.size): TreeHash {
    return size === 0 ? rootOf([]) : this.#range(0, size)
  }

  inclusion(index: number): readonly TreeHash[] {
    return inclusionProof((start, end) => this.#range(start, end), index, this.size)
  }

  /** That the tree of `from` leaves is its beginning. */
  consistency(from: number): readonly TreeHash[] {
    return consistencyProof((start, end) => this.#range(start, end), from, this.size)
  }

  /** The leaves of a range are a sum of whole subtrees, each smaller than the one before it. */
  #range(start: number, end: number): TreeHash {
    const subtrees: TreeHash[] = []
    for (let at = start; at < end; ) {
      const size = 2 ** Math.floor(Math.log2(end - at))
      subtrees.push(this.#subtree(at, size))
      at += size
    }
    return subtrees.reduceRight((right, left) => rootOf([left, right]))
  }

  #subtree(start: number, size: number): TreeHash {
    const level = Math.floor(Math.log2(size) / 8)
    const each = TILE_HASHES ** level
    return rootOf(Array.from({ length: size / each }, (_, at) => this.#hash(level, start / each + at)))
  }

  #hash(level: number, index: number): TreeHash {
    const found = this.#tile(level, Math.floor(index / TILE_HASHES))[index % TILE_HASHES]
    if (found === undefined) throw new UnusableTile(tilePath({ level, number: Math.floor(index / TILE_HASHES) }))
    return found
  }

  /** A server that runs may have replaced a partial tile by one with more hashes. */
  #read(tile: Omit<Tile, 'hashes'>, width: number): readonly TreeHash[] {
    const found = hashesIn(this.#folder, tilePath(tile, width)) ?? hashesIn(this.#folder, tilePath(tile))
    return (found ?? this.#readWider(tile, width)).slice(0, width)
  }

  #readWider(tile: Omit<Tile, 'hashes'>, width: number): readonly TreeHash[] {
    const folder = join(this.#folder, `${tilePath(tile)}.p`)
    const widths = existsSync(folder) ? readdirSync(folder).map(Number) : []
    const wider = widths.find((one) => one > width)
    return wider === undefined ? [] : (hashesIn(this.#folder, tilePath(tile, wider)) ?? [])
  }

  /** Whether the level above says the same; the highest levels are the root's. */
  #isWhole({ level, number, hashes }: Tile): boolean {
    return hashes.length < TILE_HASHES || this.#hash(level + 1, number) === rootOf(hashes)
  }

  #tile(level: number, number: number): readonly TreeHash[] {
    const whole = Math.floor(this.size / TILE_HASHES ** level)
    const width = Math.min(whole - number * TILE_HASHES, TILE_HASHES)
    const path = tilePath({ level, number }, width)
    const known = this.#tiles.get(path)
    if (known) return known
    const hashes = this.#read({ level, number }, width)
    if (hashes.length !== width || !this.#isWhole({ level, number, hashes })) throw new UnusableTile(path)
    this.#tiles.set(path, hashes)
    return hashes
  }
}

/** Undefined if there is no such file. */
function hashesIn(folder: string, path: string): readonly TreeHash[] | undefined {
  let bytes: Buffer
  try {
    bytes = readFileSync(join(folder, path))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw error
  }
  const text = bytes.toString('latin1')
  return Array.from({ length: Math.ceil(text.length / HASH_BYTES) }, (_, at) =>
    text.slice(at * HASH_BYTES, (at + 1) * HASH_BYTES),
  )
}
