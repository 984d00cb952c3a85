/** The id of a new object: a UUID of version 7, so ids sort by the time when they were made (RFC 9562 section 5.7). */
import { randomFillSync } from 'node:crypto'
import { v7 } from 'uuid'

const ID_BYTES = 16

/** Taken for many ids at once: to ask for the bytes of one id costs more than the rest of the id. */
const pool = Buffer.alloc(256 * ID_BYTES)
let taken = pool.length

let msecs = 0
let seq = 0

/**
 * Ids of one process ascend, also within a millisecond and when the clock is set back (RFC 9562 section 6.2, method 1),
 * as long as the clock isn't behind for 2^31 ids.
 */
export function newId(): string {
  const random = randomBytes()
  const now = Date.now()
  if (now > msecs) {
    msecs = now
    // The highest bit is 0 at first, so that the numbers of a millisecond don't run out.
    seq = random.readUInt32BE() & 0x7fff_ffff
  } else {
    seq += 1
  }
  return v7({ random, msecs, seq })
}

/** They are given out once. */
function randomBytes(): Buffer {
  if (taken === pool.length) {
    randomFillSync(pool)
    taken = 0
  }
  taken += ID_BYTES
  return pool.subarray(taken - ID_BYTES, taken)
}
