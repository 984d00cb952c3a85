/** Puts the requests of one turn of the event loop into few writes: a system call for each was a third of their cost. */
import type { Writable } from 'node:stream'

/** More are sent at once, so that the other side can begin while this one still asks. */
const HELD_AT_MOST = 16

/** The function returned is to be called before each write; what is held goes out at the end of the turn. */
export function createHold(stream: Writable): () => void {
  let held = 0

  function release(): void {
    if (held === 0) return
    held = 0
    stream.uncork()
  }

  return () => {
    if (held === HELD_AT_MOST) release()
    if (held === 0) {
      stream.cork()
      setImmediate(release)
    }
    held += 1
  }
}
