/**
 * The last line of an archive: a checksum of all bytes before it, so that no flipped byte stays unnoticed, also between
 * the parts. Programs that read tar files ignore the line.
 */
import { createHash } from 'node:crypto'

function sealOf(text: string, command: string): Buffer {
  return Buffer.from(`${command} sha256:${text.padEnd(64, '0')}\n`)
}

/** The bytes with their seal. `command`: that makes such an archive. */
export async function* sealed(bytes: AsyncIterable<Uint8Array>, command: string): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256')
  for await (const chunk of bytes) {
    hash.update(chunk)
    yield chunk
  }
  yield sealOf(hash.digest('hex'), command)
}

interface SealReading {
  readonly command: string
  /** Gets at the end whether the seal is there and fits. */
  readonly report: (state: 'whole' | 'cut' | 'changed') => void
}

/** The bytes without their seal. */
export async function* unsealed(
  bytes: AsyncIterable<Uint8Array>,
  { command, report }: SealReading,
): AsyncGenerator<Uint8Array> {
  const sealBytes = sealOf('', command).length
  const hash = createHash('sha256')
  let held: Buffer = Buffer.alloc(0)
  for await (const chunk of bytes) {
    const all = Buffer.concat([held, chunk])
    const passed = all.subarray(0, Math.max(0, all.length - sealBytes))
    held = all.subarray(passed.length)
    hash.update(passed)
    if (passed.length > 0) yield passed
  }
  const found = held.toString('latin1')
  if (!found.startsWith(`${command} sha256:`) || !/:[0-9a-f]{64}\n$/.test(found)) report('cut')
  else report(held.equals(sealOf(hash.digest('hex'), command)) ? 'whole' : 'changed')
}
