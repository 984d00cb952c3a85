/** The lines of a file from its end, without reading more than asked for. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

const CHUNK_BYTES = 64 * 1024

/** The last line before `end` (bytes; the file's end) first; an empty last line (behind a line's end) isn't one. */
export function* readLinesBackwards(file: string, end?: number): Generator<string> {
  const descriptor = openSync(file, 'r')
  try {
    let rest = Buffer.alloc(0)
    let position = end ?? fstatSync(descriptor).size
    while (position > 0) {
      const length = Math.min(CHUNK_BYTES, position)
      position -= length
      const chunk = Buffer.alloc(length)
      readSync(descriptor, chunk, 0, length, position)
      let bytes = Buffer.concat([chunk, rest])
      for (let at = bytes.lastIndexOf(0x0a); at >= 0; at = bytes.lastIndexOf(0x0a)) {
        const line = bytes.subarray(at + 1)
        if (line.length > 0) yield line.toString('utf8')
        bytes = bytes.subarray(0, at)
      }
      rest = bytes
    }
    if (rest.length > 0) yield rest.toString('utf8')
  } finally {
    closeSync(descriptor)
  }
}
