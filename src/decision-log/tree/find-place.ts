/** Where a reader of a log goes on: behind the newest line that the tree has, or that was sent. */
import type { FileHandle } from 'node:fs/promises'
import { LogFollower, linesWithEnds, openFilesOfLog } from '../log-files.ts'
import { signedText } from '../sealed-line.ts'
import { leafHash, type TreeHash } from './merkle.ts'
import { TILE_HASHES, type TileTree } from './tiles.ts'

/** More than a log gets within a second. */
const NEAR_BYTES = 4 * 1024 * 1024

interface SignedLeaves {
  readonly tiles: TileTree
  /** The first leaf whose hash is kept. */
  readonly minimum: number
  /** The first leaf of each file of the log, as far as that is known. */
  readonly starts: readonly number[]
}

/** Some, because the very last line may have been changed while no process ran. */
function newestLeaves({ tiles, minimum }: SignedLeaves): ReadonlySet<TreeHash> {
  const count = Math.min(tiles.size - minimum, TILE_HASHES)
  return new Set(Array.from({ length: count }, (_, at) => tiles.leaf(tiles.size - count + at)))
}

/** Of the files whose hashes are kept. */
function firstLeaves({ tiles, minimum, starts }: SignedLeaves): ReadonlySet<TreeHash> {
  const kept = starts.filter((start) => start >= minimum && start < tiles.size)
  return new Set(kept.map((start) => tiles.leaf(start)))
}

interface FoundPlace {
  readonly follower: LogFollower
  readonly hasNewest: boolean
}

/**
 * Goes on after the last of the newest leaves. If somebody moved these away or cut them, after the newest file whose first
 * leaf is known, else at the beginning of the oldest file.
 */
export async function findPlace(log: string, signed: SignedLeaves): Promise<FoundPlace> {
  const newest = newestLeaves(signed)
  const firsts = firstLeaves(signed)
  let hasNewest = newest.size === 0
  const follower = await followFrom(log, async (file) => {
    if (newest.size === 0) return undefined
    const end = await endOfLast(file, newest)
    hasNewest = end !== undefined
    return end ?? endOfKnown(file, firsts)
  })
  return { follower, hasNewest }
}

/** Goes on after the line of this leaf; if it isn't in the log any more, at the beginning of the oldest file. */
export async function placeAfter(log: string, leaf: TreeHash | undefined): Promise<FoundPlace> {
  let hasNewest = false
  const follower = await followFrom(log, async (file) => {
    const end = leaf === undefined ? undefined : await endOfLast(file, new Set([leaf]))
    hasNewest = end !== undefined
    return end
  })
  return { follower, hasNewest }
}

/** `placeIn`: where to go on in a file (bytes), asked from the newest to the oldest; undefined for the next one. */
async function followFrom(
  log: string,
  placeIn: (file: FileHandle) => Promise<number | undefined>,
): Promise<LogFollower> {
  // All at one moment: a rotation during the look would hide the file that has the place.
  const handles = await openFilesOfLog(log)
  let chosen: FileHandle | undefined
  try {
    for (const handle of handles.toReversed()) {
      const place = await placeIn(handle)
      if (place === undefined) continue
      chosen = handle
      return new LogFollower(log, place, handle)
    }
    chosen = handles[0]
    return new LogFollower(log, 0, chosen)
  } finally {
    await Promise.all(handles.filter((handle) => handle !== chosen).map((handle) => handle.close()))
  }
}

/** Of a file that begins with one of these leaves. */
async function endOfKnown(handle: FileHandle, firsts: ReadonlySet<TreeHash>): Promise<number | undefined> {
  let last: number | undefined
  for await (const { line, end } of linesWithEnds(handle)) {
    if (last === undefined && !firsts.has(leafHash(signedText(line)))) return undefined
    last = end
  }
  return last
}

/** Mostly they are near the end. */
async function endOfLast(handle: FileHandle, leaves: ReadonlySet<TreeHash>): Promise<number | undefined> {
  const { size } = await handle.stat()
  const near = Math.max(0, size - NEAR_BYTES)
  return (await endAmong(handle, near, leaves)) ?? (near > 0 ? endAmong(handle, 0, leaves) : undefined)
}

async function endAmong(handle: FileHandle, from: number, leaves: ReadonlySet<TreeHash>): Promise<number | undefined> {
  let found: number | undefined
  for await (const { line, end } of linesWithEnds(handle, from)) if (leaves.has(leafHash(signedText(line)))) found = end
  return found
}
