/** The files of a decision log: the one that grows, and the full ones beside it. */
import { type FileHandle, open, readdir, stat } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'

/** The existing files, oldest first. */
export async function filesOfLog(file: string): Promise<readonly string[]> {
  const entries = await readdir(dirname(file), { withFileTypes: true }).catch(() => [])
  const names = entries.filter((one) => !one.isDirectory()).map(({ name }) => name)
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
export async function openFilesOfLog(file: string): Promise<readonly FileHandle[]> {
  for (;;) {
    const files = await identifiedFilesOfLog(file)
    const handles = (await Promise.all(files.map(({ name }) => openIfThere(name)))).filter((one) => one !== undefined)
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

async function openIfThere(name: string): Promise<FileHandle | undefined> {
  try {
    return await open(name, 'r')
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

/**
 * Lines backwards, from the last line before `end` (bytes; default: the file's end). An empty text after the last line
 * end isn't a line.
 */
export async function* readLinesBackwards(file: FileHandle, end?: number): AsyncGenerator<string> {
  let rest = Buffer.alloc(0)
  let position = end ?? (await file.stat()).size
  while (position > 0) {
    const length = Math.min(CHUNK_BYTES, position)
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

// The lines added to a growing file, also across rotation (another file takes the name) and truncation.

const POLL_MS = 200
const RENAMING_MS = 5

/** Reads on from this offset (bytes); ends with the signal. */
export async function* followLines(file: string, from: number, signal: AbortSignal): AsyncGenerator<string> {
  let handle = await openOrWait(file, signal)
  let offset = from
  let rest = Buffer.alloc(0)
  try {
    while (handle && !signal.aborted) {
      const bytes = await readFrom(handle, offset)
      offset += bytes.length
      const { lines, tail } = split(Buffer.concat([rest, bytes]))
      yield* lines
      rest = tail
      if (bytes.length > 0) continue
      if (await isAnother(file, handle)) {
        // Lines that were written before the rename must still be read.
        const last = await readFrom(handle, offset)
        if (last.length > 0) continue
        const next = await openNext(file, handle, signal)
        await handle.close()
        handle = next
        offset = 0
        continue
      }
      await sleep(POLL_MS, undefined, { signal }).catch(() => undefined)
      if ((await handle.stat()).size < offset) offset = 0
    }
  } finally {
    await handle?.close()
  }
}

async function readFrom(handle: FileHandle, offset: number): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(CHUNK_BYTES), 0, CHUNK_BYTES, offset)
  return buffer.subarray(0, bytesRead)
}

function split(bytes: Buffer): { readonly lines: readonly string[]; readonly tail: Buffer<ArrayBuffer> } {
  const end = bytes.lastIndexOf(0x0a) + 1
  const whole = bytes.subarray(0, end).toString('utf8')
  return { lines: whole.split('\n').filter((line) => line !== ''), tail: Buffer.from(bytes.subarray(end)) }
}

async function isAnother(file: string, handle: FileHandle): Promise<boolean> {
  const found = await stat(file).catch(() => undefined)
  return found !== undefined && found.ino !== (await handle.stat()).ino
}

/**
 * Opens the file that follows an open one: it too may have been renamed to a number by now. If the open one has left
 * the log (logrotate took it), opens the file that has the name now.
 */
async function openNext(file: string, before: FileHandle, signal: AbortSignal): Promise<FileHandle | undefined> {
  const { ino } = await before.stat()
  while (!signal.aborted) {
    const files = await identifiedFilesOfLog(file)
    if (!files.some((one) => one.ino === ino)) return openOrWait(file, signal)
    const next = after(files, ino)
    const handle = next && (await open(next.name, 'r').catch(() => undefined))
    const opened = handle && (await handle.stat()).ino
    // The names may have changed during the look.
    if (handle && opened === after(await identifiedFilesOfLog(file), ino)?.ino) return handle
    await handle?.close()
    await sleep(RENAMING_MS, undefined, { signal }).catch(() => undefined)
  }
  return undefined
}

function after(files: readonly IdentifiedFile[], ino: number): IdentifiedFile | undefined {
  const at = files.findIndex((one) => one.ino === ino)
  return at < 0 ? undefined : files[at + 1]
}

async function openOrWait(file: string, signal: AbortSignal): Promise<FileHandle | undefined> {
  while (!signal.aborted) {
    const handle = await open(file, 'r').catch(() => undefined)
    if (handle) return handle
    await sleep(POLL_MS, undefined, { signal }).catch(() => undefined)
  }
  return undefined
}
