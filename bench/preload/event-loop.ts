/** Loaded before a server (`node --import`), it tells the bench how long the event loop stood still, when it is asked. */
import { monitorEventLoopDelay } from 'node:perf_hooks'

const RESOLUTION_MS = 1

const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
delay.enable()

// Each message is a question about the time since the one before; the timer's own wait isn't a stall.
process.on('message', () => {
  process.send?.({ longestStallMs: Math.max(0, delay.max / 1e6 - RESOLUTION_MS) })
  delay.reset()
})
// The channel alone is no reason to go on.
process.channel?.unref()
