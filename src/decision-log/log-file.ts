/**
 * The decision log as a file that only grows, readable by its owner alone. When it would grow over its size it becomes `.1`,
 * what was `.1` becomes `.2`, and so on; the oldest goes. A line that a crash cut off is taken away when the file is opened.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  fsync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { promisify } from 'node:util'
import { readLinesBackwards } from './read-backwards.ts'
import type { Sink } from './sink.ts'

const OWNER_ONLY = 0o600

export interface LogFileOptions {
  readonly file: string
  readonly maxBytes: number
  /** How many full files are kept beside the one that grows. */
  readonly keep: number
}

export class LogFile implements Sink {
  readonly #options: LogFileOptions
  #descriptor: number
  #size: number

  /** Throws what the file system throws. */
  constructor(options: LogFileOptions) {
    this.#options = options
    this.#descriptor = openSync(options.file, 'a+', OWNER_ONLY)
    this.#size = this.#mend()
  }

  append(lines: string): void {
    const bytes = Buffer.from(lines)
    if (this.#size > 0 && this.#size + bytes.length > this.#options.maxBytes) this.#rotate()
    try {
      let written = 0
      while (written < bytes.length) written += writeSync(this.#descriptor, bytes, written)
    } catch (error) {
      // A full disk may have taken a part.
      ftruncateSync(this.#descriptor, this.#size)
      throw error
    }
    this.#size += bytes.length
  }

  async sync(): Promise<void> {
    const descriptor = this.#descriptor
    await promisify(fsync)(descriptor).catch((error) => {
      // A rotation in between has synced the file that it closed.
      if (descriptor === this.#descriptor) throw error
    })
  }

  reopen(): void {
    const descriptor = openSync(this.#options.file, 'a+', OWNER_ONLY)
    closeSync(this.#descriptor)
    this.#descriptor = descriptor
    this.#size = this.#mend()
  }

  holds(sequences: ReadonlySet<number>): ReadonlySet<string> {
    const found = new Set<string>()
    for (const file of [this.#options.file, ...this.#rotated()]) {
      for (const line of readLinesBackwards(file)) {
        const { write, requestId } = parseWrite(line)
        if (write !== undefined && sequences.has(write)) found.add(`${write} ${requestId}`)
        if (found.size === sequences.size) return found
      }
    }
    return found
  }

  close(): void {
    closeSync(this.#descriptor)
  }

  #rotate(): void {
    const { file, keep } = this.#options
    fsyncSync(this.#descriptor)
    if (keep === 0) rmSync(file)
    for (let number = keep; number >= 1; number--) {
      const from = number === 1 ? file : `${file}.${number - 1}`
      if (existsSync(from)) renameSync(from, `${file}.${number}`)
    }
    this.reopen()
  }

  /** Newest first. */
  #rotated(): readonly string[] {
    const { file, keep } = this.#options
    const names = Array.from({ length: keep }, (_, i) => `${file}.${i + 1}`)
    return names.filter((name) => existsSync(name))
  }

  /** Takes away what stands after the last end of a line; the size that remains. */
  #mend(): number {
    const { size } = fstatSync(this.#descriptor)
    let end = size
    const byte = Buffer.alloc(1)
    while (end > 0 && readSync(this.#descriptor, byte, 0, 1, end - 1) === 1 && byte[0] !== 0x0a) end -= 1
    if (end < size) ftruncateSync(this.#descriptor, end)
    return end
  }
}

function parseWrite(line: string): { readonly write?: number; readonly requestId?: string } {
  if (!line.includes('"write":')) return {}
  try {
    return JSON.parse(line)
  } catch {
    return {}
  }
}
