/** What the tree of a log keeps of a line. */
import { leafHash, type TreeHash } from './merkle.ts'

/** `line`: without its end. */
export function leafOf(line: string): TreeHash {
  return leafHash(line)
}
