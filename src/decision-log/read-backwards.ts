/** The lines of a file from its end, without reading more than asked for. */
import type { FileHandle } from 'node:fs/promises'

const CHUNK_BYTES = 64 * 1024

/** The last line before `end` (bytes; the file's end) first; an empty last line (behind a line's end) isn't one. */
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
