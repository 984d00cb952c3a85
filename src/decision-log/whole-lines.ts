/**
 * Writes whole lines to a descriptor that may run out of room: a full disk, a pipe that nobody reads. After a cut line,
 * its rest is written first, so that no line ever contains two.
 */
import { writeSync } from 'node:fs'

const END_OF_LINE = 0x0a

/** `whole` lines are written completely. One more may be begun: the next write finishes it. */
export class CutShort extends Error {
  readonly whole: number
  readonly begun: number

  constructor({ whole, begun }: { readonly whole: number; readonly begun: number }, cause: unknown) {
    super('not all lines could be written', { cause })
    this.name = 'CutShort'
    this.whole = whole
    this.begun = begun
  }
}

/** Like writeSync: the number of bytes that were written. */
type WriteBytes = (descriptor: number, bytes: Buffer, offset: number) => number

interface WriteProgress {
  readonly bytes: number
  /** The reason why not everything was written. */
  readonly error?: unknown
}

export class WholeLines {
  readonly #descriptor: number
  readonly #write: WriteBytes
  /** The rest of a line that was cut. */
  #rest: Buffer

  /** `rest`: the missing rest of a cut line that an earlier process left at the end. */
  constructor(
    descriptor: number,
    { rest = '', write = writeSync }: { readonly rest?: string; readonly write?: WriteBytes } = {},
  ) {
    this.#descriptor = descriptor
    this.#write = write
    this.#rest = Buffer.from(rest)
  }

  /** Each line has its end. Waits for a full pipe, at most this many milliseconds. Throws CutShort. */
  write(lines: string, longestWaitMs: number): void {
    const giveUpAt = performance.now() + longestWaitMs
    const before = this.#take(this.#rest, giveUpAt)
    this.#rest = this.#rest.subarray(before.bytes)
    if (this.#rest.length > 0) throw new CutShort({ whole: 0, begun: 0 }, before.error)
    const bytes = Buffer.from(lines)
    const taken = this.#take(bytes, giveUpAt)
    if (taken.bytes === bytes.length) return
    const atLine = taken.bytes === 0 || bytes[taken.bytes - 1] === END_OF_LINE
    const end = atLine ? taken.bytes : bytes.indexOf(END_OF_LINE, taken.bytes) + 1
    this.#rest = Buffer.from(bytes.subarray(taken.bytes, end))
    throw new CutShort({ whole: linesIn(bytes, taken.bytes), begun: linesIn(bytes, end) }, taken.error)
  }

  #take(bytes: Buffer, giveUpAt: number): WriteProgress {
    let taken = 0
    while (taken < bytes.length) {
      try {
        taken += this.#write(this.#descriptor, bytes, taken)
      } catch (error) {
        const mayPass = (error as NodeJS.ErrnoException).code === 'EAGAIN' && performance.now() < giveUpAt
        if (!mayPass) return { bytes: taken, error }
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
      }
    }
    return { bytes: taken }
  }
}

/** The number of lines that end before this place. */
function linesIn(bytes: Buffer, end: number): number {
  let count = 0
  for (let at = bytes.indexOf(END_OF_LINE); at >= 0 && at < end; at = bytes.indexOf(END_OF_LINE, at + 1)) count += 1
  return count
}
