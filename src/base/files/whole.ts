/** Work on several files that is done wholly or undone, also when the process is told to end meanwhile. */
import { setImmediate } from 'node:timers/promises'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Throws once a signal has come. To be awaited between two writes. */
export type GoOn = () => Promise<void>

/**
 * While `work` runs, a signal doesn't end the process: it makes `goOn` throw, so that `work` undoes what it has done.
 * Then the signal ends the process. Where it comes too late for that, the work is done, and the process goes on.
 */
export async function whole<T>(work: (goOn: GoOn) => Promise<T>): Promise<T> {
  let told: NodeJS.Signals | undefined
  const note = (signal: NodeJS.Signals) => {
    told ??= signal
  }
  for (const signal of SIGNALS) process.on(signal, note)
  const goOn = async () => {
    // Node tells signals between two turns of its loop.
    await setImmediate()
    if (told) throw new Error(`stopped by ${told}, and nothing was changed`)
  }
  let undone = true
  try {
    const result = await work(goOn)
    undone = false
    return result
  } finally {
    for (const signal of SIGNALS) process.off(signal, note)
    if (told && undone) process.kill(process.pid, told)
  }
}
