/**
 * The Merkle tree of RFC 6962 (section 2.1) with SHA-256, and its proofs (RFC 9162, sections 2.1.3 and 2.1.4). A hash is
 * a text with a character for each of its 32 bytes: node:crypto makes these in a third of the time of a Buffer.
 */
import { hash } from 'node:crypto'

export type TreeHash = string

const EMPTY_ROOT: TreeHash = hash('sha256', '', 'latin1')
export const HASH_BYTES = 32

/** `data`: text; its UTF-8 counts. */
export function leafHash(data: string): TreeHash {
  return hash('sha256', `\0${data}`, 'latin1')
}

/** One for all: nothing waits between its filling and its hash. */
const node = Buffer.alloc(1 + 2 * HASH_BYTES, 1)

export function nodeHash(left: TreeHash, right: TreeHash): TreeHash {
  node.write(left, 1, 'latin1')
  node.write(right, 1 + HASH_BYTES, 'latin1')
  return hash('sha256', node, 'latin1')
}

/** The root over hashes of whole subtrees of one size; the last one may be of a smaller tree. */
export function rootOf(hashes: readonly TreeHash[]): TreeHash {
  let level = hashes
  while (level.length > 1) level = pairs(level)
  return level[0] ?? EMPTY_ROOT
}

function pairs(hashes: readonly TreeHash[]): readonly TreeHash[] {
  const above: TreeHash[] = []
  for (let at = 0; at < hashes.length; at += 2) {
    const left = hashes[at] ?? ''
    const right = hashes[at + 1]
    above.push(right === undefined ? left : nodeHash(left, right))
  }
  return above
}

/** The hash of the leaves from `start` to before `end`; at least one. */
type RangeRoot = (start: number, end: number) => TreeHash

/** The largest power of two below `count`, which is at least 2. */
function split(count: number): number {
  return 2 ** Math.ceil(Math.log2(count) - 1)
}

/** RFC 6962, section 2.1.1. */
export function inclusionProof(range: RangeRoot, index: number, size: number): readonly TreeHash[] {
  const path = (start: number, end: number): readonly TreeHash[] => {
    if (end - start === 1) return []
    const middle = start + split(end - start)
    return index < middle ? [...path(start, middle), range(middle, end)] : [...path(middle, end), range(start, middle)]
  }
  return path(0, size)
}

/** RFC 9162, section 2.1.3.2. */
export function isIncluded(
  leaf: TreeHash,
  { index, size, root }: { readonly index: number; readonly size: number; readonly root: TreeHash },
  proof: readonly TreeHash[],
): boolean {
  if (!(index < size)) return false
  let at = index
  let last = size - 1
  let found = leaf
  for (const one of proof) {
    if (last === 0) return false
    if (at % 2 === 1 || at === last) {
      found = nodeHash(one, found)
      while (at % 2 === 0 && at !== 0) [at, last] = [half(at), half(last)]
    } else found = nodeHash(found, one)
    ;[at, last] = [half(at), half(last)]
  }
  return last === 0 && found === root
}

/** Sizes may be more than 32 bits. */
function half(count: number): number {
  return Math.floor(count / 2)
}
