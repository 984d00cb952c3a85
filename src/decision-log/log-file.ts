/**
 * The decision log as a file that only grows, readable only by its owner. When it would exceed its size it becomes
 * `.1`, the old `.1` becomes `.2`, and so on; the oldest file is deleted. When the file is opened, a line that a crash
 * cut off is removed.
 */
import {
  accessSync,
  close,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsync,
  ftruncateSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { openFilesOfLog, readLinesBackwards } from './log-files.ts'
import type { Sink } from './sink.ts'

const OWNER_ONLY = 0o600
/** The first byte of every record; a loss of power may leave zeros. */
const BRACE = 0x7b

export interface LogFileOptions {
  readonly file: string
  readonly maxBytes: number
  /** The number of full files that are kept beside the one that grows. */
  readonly keep: number
}

/** The file is no decision log and must not be written to. The message says why. */
export class NotALog extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'NotALog'
  }
}

export class LogFile implements Sink {
  readonly #options: LogFileOptions
  #descriptor: number
  /** A part of a line is at the end, and can't be removed. */
  #torn = false
  readonly #retired = new RetiredFiles()

  /** Throws NotALog, or an error of the file system. */
  constructor(options: LogFileOptions) {
    this.#options = options
    this.#descriptor = openLog(options.file)
  }

  append(lines: string): void {
    const bytes = Buffer.from(this.#torn ? `\n${lines}` : lines)
    // Checked each time, because somebody may have emptied the file, or deleted it with its folder.
    const found = fstatSync(this.#descriptor)
    if (found.nlink === 0) this.reopen()
    else if (found.size > 0 && found.size + bytes.length > this.#options.maxBytes) this.#rotate()
    const { size } = fstatSync(this.#descriptor)
    try {
      let written = 0
      while (written < bytes.length) written += writeSync(this.#descriptor, bytes, written)
    } catch (error) {
      this.#takeBack(size)
      throw error
    }
    this.#torn = false
  }

  async sync(): Promise<void> {
    const descriptor = this.#descriptor
    await promisify(fsync)(descriptor).catch((error) => {
      // If the file was retired in the meantime, RetiredFiles reports its failure.
      if (descriptor === this.#descriptor) throw error
    })
    await this.#retired.durable()
  }

  reopen(): void {
    const descriptor = openLog(this.#options.file)
    const before = this.#descriptor
    this.#descriptor = descriptor
    this.#torn = false
    this.#retired.add(before)
  }

  async holds(sequences: ReadonlySet<number>, since: number): Promise<ReadonlySet<string>> {
    const found = new Set<string>()
    const lowest = Math.min(...sequences)
    for await (const line of this.#linesBackwards(since)) {
      const { write, requestId } = parseWrite(line)
      if (write !== undefined && sequences.has(write)) found.add(`${write} ${requestId}`)
      // Numbers grow, and reads are written at once, so all further lines are older.
      const isOlder = write === undefined ? timeOf(line) < since : write < lowest
      if (found.size === sequences.size || isOlder) break
    }
    return found
  }

  close(): void {
    closeSync(this.#descriptor)
  }

  /** The lines, newest first, of the files that were written since then (milliseconds since the epoch). */
  async *#linesBackwards(since: number): AsyncGenerator<string> {
    const files = await openFilesOfLog(this.#options.file)
    try {
      for (const file of files.toReversed()) {
        if ((await file.stat()).mtimeMs < since) return
        yield* readLinesBackwards(file)
      }
    } finally {
      await Promise.all(files.map((file) => file.close()))
    }
  }

  #rotate(): void {
    const { file, keep } = this.#options
    // The file is missing if it was moved but no new one could be opened: moving again would delete the oldest.
    if (existsSync(file)) makeRoom(file, keep)
    this.reopen()
  }

  /** Removes the part of a line that a full disk may have taken. */
  #takeBack(size: number): void {
    try {
      ftruncateSync(this.#descriptor, size)
    } catch {
      this.#torn = fstatSync(this.#descriptor).size > size
    }
  }
}

function makeRoom(file: string, keep: number): void {
  if (keep === 0) rmSync(file, { force: true })
  for (let number = keep; number >= 1; number--) {
    const from = number === 1 ? file : `${file}.${number - 1}`
    if (existsSync(from)) renameSync(from, `${file}.${number}`)
  }
}

function openLog(file: string): number {
  const descriptor = openSync(file, 'a+', OWNER_ONLY)
  try {
    refuseOther(file, descriptor)
    cutPartialLine(descriptor)
    return descriptor
  } catch (error) {
    closeSync(descriptor)
    throw error
  }
}

/** Throws NotALog, or an error of the file system, if the log can't be opened; changes nothing. */
export function inspectLog(file: string): void {
  if (!existsSync(file)) {
    accessSync(dirname(file), constants.W_OK)
    return
  }
  const descriptor = openSync(file, 'r')
  try {
    if (fstatSync(descriptor).isDirectory()) throw Object.assign(new Error('a folder'), { code: 'EISDIR' })
    refuseOther(file, descriptor)
    accessSync(file, constants.W_OK)
  } finally {
    closeSync(descriptor)
  }
}

/**
 * Refuses other kinds of file: a full pipe would delay every request, and removing the end of another kind of file
 * would damage it.
 */
function refuseOther(file: string, descriptor: number): void {
  const found = fstatSync(descriptor)
  if (found.isFIFO()) throw new NotALog(`${file} is a pipe, and a decision log must be a file`)
  const first = Buffer.alloc(1)
  if (!found.isFile() || readSync(descriptor, first, 0, 1, 0) === 0) return
  if (first[0] !== BRACE && first[0] !== 0) throw new NotALog(`${file} is not a decision log`)
}

/** Removes the text after the last line end. */
function cutPartialLine(descriptor: number): void {
  const { size } = fstatSync(descriptor)
  let end = size
  const byte = Buffer.alloc(1)
  while (end > 0 && readSync(descriptor, byte, 0, 1, end - 1) === 1 && byte[0] !== 0x0a) end -= 1
  if (end < size) ftruncateSync(descriptor, end)
}

/** Milliseconds since the epoch; NaN if the line doesn't begin a record. */
function timeOf(line: string): number {
  return Date.parse(/^\{"record":"decision","time":"(?<time>[^"]*)"/.exec(line)?.groups?.time ?? '')
}

function parseWrite(line: string): { readonly write?: number; readonly requestId?: string } {
  if (!line.includes('"write":')) return {}
  try {
    return JSON.parse(line)
  } catch {
    return {}
  }
}

// Files of the log that are full or were moved away: each is synced to disk, without blocking the event loop, and then
// closed.

type OnDescriptor = (descriptor: number) => Promise<void>

export class RetiredFiles {
  readonly #sync: OnDescriptor
  readonly #close: OnDescriptor
  #all: Promise<void> = Promise.resolve()

  constructor(sync: OnDescriptor = promisify(fsync), closeFile: OnDescriptor = promisify(close)) {
    this.#sync = sync
    this.#close = closeFile
  }

  /**
   * Takes a file that nobody writes to any more. Returns at once: syncing a full file is slow, and no request waits for
   * it.
   */
  add(descriptor: number): void {
    const before = this.#all
    this.#all = this.#retire(descriptor).then(() => before)
    // `durable` reports the failure.
    this.#all.catch(() => {})
  }

  /** Resolves when the disk has all of them; rejects, once, if it couldn't take one. */
  async durable(): Promise<void> {
    const all = this.#all
    try {
      await all
    } catch (error) {
      if (all === this.#all) this.#all = Promise.resolve()
      throw error
    }
  }

  async #retire(descriptor: number): Promise<void> {
    await this.#sync(descriptor).finally(() => this.#close(descriptor))
  }
}
