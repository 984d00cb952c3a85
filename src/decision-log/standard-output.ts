/**
 * The decision log on standard output, for a platform that collects it; after a crash, the records of the last writes
 * may appear twice.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import type { Sink } from './sink.ts'
import { WholeLines } from './whole-lines.ts'

const STDOUT = 1

export function createStandardOutput(): Sink {
  const lines = new WholeLines(STDOUT, { rest: endsInLine(STDOUT) ? '\n' : '' })
  return {
    // A pipe with a slow reader is sometimes full; decisions wait for it.
    append: (text) => lines.write(text, Number.POSITIVE_INFINITY),
    sync: async () => undefined,
    reopen: () => undefined,
    holds: async () => new Set(),
    close: () => undefined,
  }
}

/** Whether the file ends within a line: an earlier process may have left a line that a full disk cut. */
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
    // Standard output can't be read everywhere.
    return false
  }
}
