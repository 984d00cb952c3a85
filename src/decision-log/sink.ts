/** The target of the decision log's lines: a file, or standard output. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { WholeLines } from './whole-lines.ts'

export interface Sink {
  /**
   * Passes whole lines (each with its end) to the operating system: all lines, or it throws and none is written. If it
   * can't remove a part again, it throws CutShort, which says how many lines must not be tried again.
   */
  append(lines: string): void
  /** Resolves when the appended lines survive a loss of power, as far as the sink can promise it. */
  sync(): Promise<void>
  /** Continues in a new file if the old one was moved away. Throws if it can't. */
  reopen(): void
  /**
   * Looks for the records of these writes in the part of the log that was written `since` (milliseconds since the
   * epoch), and returns those that it finds, as `sequence requestId`.
   */
  holds(sequences: ReadonlySet<number>, since: number): Promise<ReadonlySet<string>>
  close(): void
}

const STDOUT = 1

/** For a platform that collects it. After a crash, the records of the last writes may appear twice. */
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
