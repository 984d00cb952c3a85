/**
 * The decision log on standard output, for a platform that gathers it; a crash may repeat the records of the last
 * writes.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import type { Sink } from './sink.ts'
import { WholeLines } from './whole-lines.ts'

const STDOUT = 1

export function createStandardOutput(): Sink {
  const lines = new WholeLines(STDOUT, { rest: endsInLine(STDOUT) ? '\n' : '' })
  return {
    // A pipe whose reader is slow has no room at times; the decisions wait for it.
    append: (text) => lines.write(text, Number.POSITIVE_INFINITY),
    sync: async () => undefined,
    reopen: () => undefined,
    holds: async () => new Set(),
    close: () => undefined,
  }
}

/** A process before this one may have left a file with a line that a full disk had cut. */
function endsInLine(descriptor: number): boolean {
  try {
    const found = fstatSync(descriptor)
    if (!found.isFile() || found.size === 0) return false
    const file = openSync(`/dev/fd/${descriptor}`, 'r')
    const last = Buffer.alloc(1)
    readSync(file, last, 0, 1, found.size - 1)
    closeSync(file)
    return last.toString() !== '\n'
  } catch {
    // Not everywhere can it be read again.
    return false
  }
}
