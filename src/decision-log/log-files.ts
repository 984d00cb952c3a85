/** The files of a decision log: the one that grows, and the full ones beside it. */

import { type FileHandle, open, readdir, stat } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'

/** The existing files, oldest first. */
export async function filesOfLog(file: string): Promise<readonly string[]> {
  const names: readonly string[] = await readdir(dirname(file)).catch(() => [])
  const numbers = names.flatMap((name) => numberOf(name, basename(file)))
  const full = numbers.toSorted((a, b) => b - a).map((number) => `${file}.${number}`)
  return names.includes(basename(file)) ? [...full, file] : full
}

export interface IdentifiedFile {
  readonly name: string
  readonly ino: number
}

/** The existing files, oldest first, as they are at one moment: a rotation renames them one by one. */
export async function identifiedFilesOfLog(file: string): Promise<readonly IdentifiedFile[]> {
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

/** The lines of a file from its end, without reading more than asked for. */
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
