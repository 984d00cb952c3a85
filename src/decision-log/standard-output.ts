/** The decision log on standard output, for a platform that gathers it; a crash may repeat the records of the last writes. */
import { writeSync } from 'node:fs'
import type { Sink } from './sink.ts'

const STDOUT = 1

export const standardOutput: Sink = {
  append(lines) {
    const bytes = Buffer.from(lines)
    let written = 0
    while (written < bytes.length) written += writeWaiting(bytes, written)
  },
  sync: async () => undefined,
  reopen: () => undefined,
  holds: () => new Set(),
  close: () => undefined,
}

/** A pipe whose reader is slow has no room at times; the decisions wait for it. */
function writeWaiting(bytes: Buffer, offset: number): number {
  try {
    return writeSync(STDOUT, bytes, offset)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
    return 0
  }
}
