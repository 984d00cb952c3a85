/** The files of a decision log: the one that grows, and the full ones beside it. */
import { isUtf8 } from 'node:buffer'
import { type FileHandle, open, readdir, stat } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'

/** The existing files, oldest first. A device has no lines: to its reader, /dev/full is a line without end. */
export async function filesOfLog(file: string): Promise<readonly string[]> {
  const entries = await readdir(dirname(file), { withFileTypes: true }).catch(() => [])
  const names = entries.filter((one) => !one.isDirectory() && !one.isCharacterDevice()).map(({ name }) => name)
  const numbers = names.flatMap((name) => numberOf(name, basename(file)))
  const full = numbers.toSorted((a, b) => b - a).map((number) => `${file}.${number}`)
  return names.includes(basename(file)) ? [...full, file] : full
}

interface IdentifiedFile {
  readonly name: string
  readonly ino: number
}

/** The existing files, oldest first, as they are at one moment: a rotation renames them one by one. */
async function identifiedFilesOfLog(file: string): Promise<readonly IdentifiedFile[]> {
  let before = await identify(file)
  for (;;) {
    const files = await identify(file)
    if (isDeepStrictEqual(files, before)) return files
    before = files
  }
}

/** The existing files, oldest first and all open, so that a rotation during a read hides no file. */
export async function openFilesOfLog(file: string, flags: 'r' | 'r+' = 'r'): Promise<readonly FileHandle[]> {
  for (;;) {
    const files = await identifiedFilesOfLog(file)
    const outcomes = await Promise.allSettled(files.map(({ name }) => openIfThere(name, flags)))
    const handles = outcomes.flatMap((one) => (one.status === 'fulfilled' && one.value ? [one.value] : []))
    const failed = outcomes.find((one) => one.status === 'rejected')
    if (failed) {
      // A handle that nobody closes ends the process when it is collected.
      await Promise.all(handles.map((handle) => handle.close()))
      throw failed.reason
    }
    const opened = await Promise.all(handles.map(async (handle) => (await handle.stat()).ino))
    if (
      isDeepStrictEqual(
        opened,
        files.map(({ ino }) => ino),
      )
    )
      return handles
    await Promise.all(handles.map((handle) => handle.close()))
  }
}

/** Undefined for a device, too. */
async function openIfThere(name: string, flags: 'r' | 'r+' = 'r'): Promise<FileHandle | undefined> {
  try {
    const handle = await open(name, flags)
    if (!(await handle.stat()).isCharacterDevice()) return handle
    await handle.close()
    return undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

async function identify(file: string): Promise<readonly IdentifiedFile[]> {
  const found = await Promise.all(
    (await filesOfLog(file)).map(async (name) => ({ name, ino: (await stat(name).catch(() => undefined))?.ino })),
  )
  return found.flatMap(({ name, ino }) => (ino === undefined ? [] : [{ name, ino }]))
}

function numberOf(name: string, base: string): readonly number[] {
  const digits = name.startsWith(`${base}.`) ? name.slice(base.length + 1) : ''
  return /^[1-9]\d*$/.test(digits) ? [Number(digits)] : []
}

const CHUNK_BYTES = 64 * 1024

/** As much again as there is of a line: of a line without an end, all bytes are copied with each chunk. */
function chunkAfter(rest: Buffer): number {
  return Math.max(CHUNK_BYTES, rest.length)
}

/**
 * Lines backwards, from the last line before `end` (bytes; default: the file's end). An empty text after the last line
 * end isn't a line.
 */
export async function* readLinesBackwards(file: FileHandle, end?: number): AsyncGenerator<string> {
  let rest = Buffer.alloc(0)
  let position = end ?? (await file.stat()).size
  while (position > 0) {
    const length = Math.min(chunkAfter(rest), position)
    position -= length
    const chunk = Buffer.alloc(length)
    await file.read(chunk, 0, length, position)
    let bytes = Buffer.concat([chunk, rest])
    for (let at = bytes.lastIndexOf(0x0a); at >= 0; at = bytes.lastIndexOf(0x0a)) {
      const line = bytes.subarray(at + 1)
      if (line.length > 0) yield line.toString('utf8')
      bytes = bytes.subarray(0, at)
    }
    rest = bytes
  }
  if (rest.length > 0) yield rest.toString('utf8')
}

/**
 * Whole lines that aren't empty, each with the place in bytes where the next line begins. `from`: bytes; within a line,
 * its rest is told as a line.
 */
export async function* linesWithEnds(
  file: FileHandle,
  from = 0,
): AsyncGenerator<{ readonly line: string; readonly start: number; readonly end: number }> {
  let rest = Buffer.alloc(0)
  let offset = from
  for (;;) {
    const bytes = await readFrom(file, offset + rest.length, chunkAfter(rest))
    if (bytes.length === 0) return
    const all = Buffer.concat([rest, bytes])
    let begun = 0
    for (let at = all.indexOf(0x0a); at >= 0; at = all.indexOf(0x0a, begun)) {
      if (at > begun) yield { line: lineText(all.subarray(begun, at)), start: offset + begun, end: offset + at + 1 }
      begun = at + 1
    }
    offset += begun
    rest = all.subarray(begun)
  }
}

/** As readers of records see them: also a line at the end that nothing ends. */
export async function* linesToTheEnd(file: FileHandle): AsyncGenerator<string> {
  let whole = 0
  for await (const { line, end } of linesWithEnds(file)) {
    whole = end
    yield line
  }
  const rest: Buffer[] = []
  for (let bytes = await readFrom(file, whole); bytes.length > 0; bytes = await readFrom(file, whole)) {
    rest.push(bytes)
    whole += bytes.length
  }
  // A server that runs may have ended it meanwhile, and begun others.
  yield* wholeLines(Buffer.concat([...rest, LINE_END]))
}

const LINE_END = Buffer.from('\n')

// The lines added to a growing file, also across rotation (another file takes the name) and truncation.

const POLL_MS = 200
/** Enough to tell one record's end from another's: a write's number, or the microseconds. */
const SEEN_BYTES = 256

/** Reads on from this offset (bytes); ends with the signal. */
export async function* followLines(file: string, from: number, signal: AbortSignal): AsyncGenerator<string> {
  await using follower = new LogFollower(file, from)
  while (!signal.aborted) {
    const lines = await follower.next()
    if (lines === 'nothing new') await sleep(POLL_MS, undefined, { signal }).catch(() => undefined)
    else if (typeof lines === 'object') yield* lines
  }
}

type FollowedLines =
  | readonly string[]
  | 'next file'
  | 'file was moved'
  | 'file was deleted'
  | 'file was rewritten'
  | 'nothing new'

export class LogFollower implements AsyncDisposable {
  readonly #file: string
  #handle: FileHandle | undefined
  #offset: number
  #rest = Buffer.alloc(0)
  /** The last bytes that were read. */
  #seen = Buffer.alloc(0)
  #isIdle = true
  /** For each read anew: under load most of the work would be to make one. */
  readonly #chunk = Buffer.allocUnsafe(CHUNK_BYTES)

  /** `from`: bytes, in the file that has the name, or in one that is open. */
  constructor(file: string, from: number, handle?: FileHandle) {
    this.#file = file
    this.#offset = from
    this.#handle = handle
  }

  /**
   * Whole lines that aren't empty. `next file`: all lines of a file are read, and what comes is of another one; `file was
   * moved`, `file was deleted`: alike, and the old one has left the log. `file was rewritten`: cut, or emptied, and perhaps grown again; what
   * comes is of its beginning.
   */
  async next(): Promise<FollowedLines> {
    this.#handle ??= await openIfThere(this.#file)
    const handle = this.#handle
    if (!handle) return 'nothing new'
    if (this.#isIdle && !(await this.#isAsRead(handle))) {
      this.#begin()
      return 'file was rewritten'
    }
    const lines = await this.#read(handle)
    this.#isIdle = lines === undefined
    if (lines) return lines
    if (await isAnother(this.#file, handle)) {
      // Lines that were written before the rename must still be read.
      return (await this.#read(handle)) ?? this.#goOn(handle)
    }
    return 'nothing new'
  }

  /** Resolves when the disk has what was read. */
  async sync(): Promise<void> {
    await this.#handle?.datasync()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle?.close()
  }

  async #read(handle: FileHandle): Promise<readonly string[] | undefined> {
    const { bytesRead } = await handle.read(this.#chunk, 0, CHUNK_BYTES, this.#offset)
    if (bytesRead === 0) return undefined
    this.#offset += bytesRead
    this.#seen = Buffer.from(this.#chunk.subarray(Math.max(0, bytesRead - SEEN_BYTES), bytesRead))
    const { lines, tail } = split(Buffer.concat([this.#rest, this.#chunk.subarray(0, bytesRead)]))
    this.#rest = tail
    return lines
  }

  /** A file that was cut may have grown again since. */
  async #isAsRead(handle: FileHandle): Promise<boolean> {
    const seen = Buffer.alloc(this.#seen.length)
    await handle.read(seen, 0, seen.length, this.#offset - seen.length)
    return seen.equals(this.#seen)
  }

  async #goOn(handle: FileHandle): Promise<FollowedLines> {
    const { ino, nlink } = await handle.stat()
    const isKept = (await identifiedFilesOfLog(this.#file)).some((one) => one.ino === ino)
    const next = isKept ? await openAfter(this.#file, ino) : await openIfThere(this.#file)
    if (!next) return 'nothing new'
    await handle.close()
    this.#handle = next
    this.#begin()
    if (isKept) return 'next file'
    return nlink === 0 ? 'file was deleted' : 'file was moved'
  }

  #begin(): void {
    this.#offset = 0
    this.#rest = Buffer.alloc(0)
    this.#seen = Buffer.alloc(0)
  }
}

async function readFrom(handle: FileHandle, offset: number, most = CHUNK_BYTES): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(most), 0, most, offset)
  return buffer.subarray(0, bytesRead)
}

function split(bytes: Buffer): { readonly lines: readonly string[]; readonly tail: Buffer<ArrayBuffer> } {
  const end = bytes.lastIndexOf(0x0a) + 1
  const whole = bytes.subarray(0, end)
  return { lines: wholeLines(whole), tail: Buffer.from(bytes.subarray(end)) }
}

function wholeLines(bytes: Buffer): readonly string[] {
  const lines = isUtf8(bytes) ? bytes.toString('utf8').split('\n') : damagedLines(bytes)
  return lines.filter((line) => line !== '')
}

/** Bytes that are no UTF-8 get a text that no other bytes have: of two lines that differ, the texts must differ. */
export function lineText(bytes: Buffer): string {
  return isUtf8(bytes) ? bytes.toString('utf8') : `\0${bytes.toString('latin1')}`
}

function damagedLines(bytes: Buffer): readonly string[] {
  const lines: string[] = []
  let begun = 0
  for (let at = bytes.indexOf(0x0a); at >= 0; at = bytes.indexOf(0x0a, begun)) {
    lines.push(lineText(bytes.subarray(begun, at)))
    begun = at + 1
  }
  return lines
}

async function isAnother(file: string, handle: FileHandle): Promise<boolean> {
  const found = await stat(file).catch(() => undefined)
  return found !== undefined && found.ino !== (await handle.stat()).ino
}

/** Opens the file that follows another one, which may have been renamed to a number by now. Undefined while names change. */
async function openAfter(file: string, ino: number): Promise<FileHandle | undefined> {
  const next = after(await identifiedFilesOfLog(file), ino)
  const handle = next && (await openIfThere(next.name))
  // The names may have changed during the look.
  if (handle && (await handle.stat()).ino === after(await identifiedFilesOfLog(file), ino)?.ino) return handle
  await handle?.close()
  return undefined
}

function after(files: readonly IdentifiedFile[], ino: number): IdentifiedFile | undefined {
  const at = files.findIndex((one) => one.ino === ino)
  return at < 0 ? undefined : files[at + 1]
}
