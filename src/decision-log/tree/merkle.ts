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
  const sides = index < size ? sidesOf(index, size - 1, proof.length) : undefined
  return sides !== undefined && joined(leaf, proof, sides) === root
}

type ProofSide = 'left' | 'right'

/** Where each hash of a proof stands, from below to the root; undefined if a proof from there has another length. */
function sidesOf(index: number, newest: number, length: number): readonly ProofSide[] | undefined {
  const sides: ProofSide[] = []
  let [at, last] = [index, newest]
  while (sides.length < length) {
    if (last === 0) return undefined
    const isLeft = at % 2 === 1 || at === last
    sides.push(isLeft ? 'left' : 'right')
    while (isLeft && at % 2 === 0 && at !== 0) [at, last] = [half(at), half(last)]
    ;[at, last] = [half(at), half(last)]
  }
  return last === 0 ? sides : undefined
}

function joined(first: TreeHash, proof: readonly TreeHash[], sides: readonly ProofSide[]): TreeHash {
  return proof.reduce((found, one, at) => (sides[at] === 'left' ? nodeHash(one, found) : nodeHash(found, one)), first)
}

/** RFC 9162, section 2.1.4.1: that the tree of `from` leaves is the beginning of the one of `size`. */
export function consistencyProof(range: RangeRoot, from: number, size: number): readonly TreeHash[] {
  const path = (start: number, known: number, end: number, isFirst: boolean): readonly TreeHash[] => {
    if (known === end) return isFirst ? [] : [range(start, end)]
    const middle = start + split(end - start)
    return known <= middle
      ? [...path(start, known, middle, isFirst), range(middle, end)]
      : [...path(middle, known, end, false), range(start, middle)]
  }
  return from === 0 ? [] : path(0, from, size, true)
}

interface TreeRoot {
  readonly size: number
  readonly root: TreeHash
}

/** RFC 9162, section 2.1.4.2. The empty tree is the beginning of each. */
export function isConsistent(before: TreeRoot, after: TreeRoot, proof: readonly TreeHash[]): boolean {
  if (before.size === 0 || before.size >= after.size) {
    const isSame = before.size === after.size && before.root === after.root
    return proof.length === 0 && (before.size === 0 || isSame)
  }
  let [at, last] = [before.size - 1, after.size - 1]
  while (at % 2 === 1) [at, last] = [half(at), half(last)]
  // The root of a whole tree isn't in its proof.
  const [first, ...path] = at === 0 ? [before.root, ...proof] : proof
  const sides = sidesOf(at, last, path.length)
  if (first === undefined || !sides) return false
  const isOld = (_: unknown, i: number) => sides[i] === 'left'
  const old = joined(first, path.filter(isOld), sides.filter(isOld))
  return old === before.root && joined(first, path, sides) === after.root
}

/** Sizes may be more than 32 bits. */
function half(count: number): number {
  return Math.floor(count / 2)
}
