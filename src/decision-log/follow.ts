/** The lines added to a growing file, also across rotation (another file takes the name) and truncation. */
import { type FileHandle, open, stat } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { type IdentifiedFile, identifiedFilesOfLog } from './log-files.ts'

const POLL_MS = 200
const RENAMING_MS = 5
const CHUNK_BYTES = 64 * 1024

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
