/** Work in slices, so that no key waits for it. There is no worker: Trusted Types would have to let its address through. */

/** Half a frame. */
const SLICE_MS = 8

/** Takes each step, with pauses. Throws what the signal throws. */
export async function inSlices<T>(steps: Iterator<unknown, T>, signal?: AbortSignal): Promise<T> {
  for (let end = performance.now() + SLICE_MS; ; ) {
    const { done, value } = steps.next()
    if (done) return value
    if (performance.now() < end) continue
    await pause()
    signal?.throwIfAborted()
    end = performance.now() + SLICE_MS
  }
}

/** A timer would wait longer, and a second in a tab that nobody looks at. */
function pause(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = () => {
      port1.close()
      resolve()
    }
    port2.postMessage(undefined)
  })
}
