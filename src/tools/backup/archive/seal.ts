/**
 * The last line of an archive: a checksum of all bytes before it, so that no flipped byte stays unnoticed, also between
 * the parts. Programs that read tar files ignore the line.
 */
import { createHash } from 'node:crypto'

const SEAL = /^sallyport backup sha256:[0-9a-f]{64}\n$/
const SEAL_BYTES = sealOf('').length

function sealOf(text: string): Buffer {
  return Buffer.from(`sallyport backup sha256:${text.padEnd(64, '0')}\n`)
}

/** The bytes with their seal. */
export async function* sealed(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256')
  for await (const chunk of bytes) {
    hash.update(chunk)
    yield chunk
  }
  yield sealOf(hash.digest('hex'))
}

/** The bytes without their seal; at the end, `report` says whether it is there and fits. */
export async function* unsealed(
  bytes: AsyncIterable<Uint8Array>,
  report: (state: 'whole' | 'cut' | 'changed') => void,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256')
  let held: Buffer = Buffer.alloc(0)
  for await (const chunk of bytes) {
    const all = Buffer.concat([held, chunk])
    const passed = all.subarray(0, Math.max(0, all.length - SEAL_BYTES))
    held = all.subarray(passed.length)
    hash.update(passed)
    if (passed.length > 0) yield passed
  }
  if (!SEAL.test(held.toString('latin1'))) report('cut')
  else report(held.equals(sealOf(hash.digest('hex'))) ? 'whole' : 'changed')
}
