/** Compares policies in a thread of its own, which is started when it is needed and ended when it isn't. */
import { Worker } from 'node:worker_threads'
import type { SourceText } from '../../resources/schema/schema-file.ts'
import type { ChangeSummary, FromThread, PolicyChange, ThreadData } from './summary.ts'

// .ts in a checkout, .js in the package.
const THREAD = new URL(import.meta.url.endsWith('.ts') ? './compare-thread.ts' : './compare-thread.js', import.meta.url)

/** A comparison that takes longer is cancelled. */
const PATIENCE_MS = 30_000

export interface ComparerOptions {
  readonly schemas: readonly SourceText[]
  /** What the thread runs. */
  readonly program?: URL
  readonly patienceMs?: number
}

/** One comparison at a time. */
export class Comparer {
  readonly #options: ComparerOptions
  #thread: Worker | undefined

  constructor(options: ComparerOptions) {
    this.#options = options
  }

  /** Rejects when the policies can't be compared, the thread ends, or it takes too long. */
  async compare(change: PolicyChange): Promise<ChangeSummary> {
    this.#thread ??= this.#start()
    const thread = this.#thread
    const { promise, resolve, reject } = Promise.withResolvers<FromThread>()
    const { patienceMs = PATIENCE_MS } = this.#options
    const giveUp = setTimeout(
      () => reject(new Error(`the comparison took longer than ${patienceMs} ms`)),
      patienceMs,
    ).unref()
    const ended = () => reject(new Error('the thread of the comparison ended'))
    thread.once('message', resolve).once('error', reject).once('exit', ended)
    thread.postMessage(change)
    try {
      const answer = await promise
      if (answer.kind === 'compared') return answer.summary
      throw new Error(answer.reason)
    } catch (error) {
      // The thread may be in any state, so the next comparison gets a new one.
      await this.end()
      throw error
    } finally {
      clearTimeout(giveUp)
      thread.off('message', resolve).off('error', reject).off('exit', ended)
    }
  }

  async end(): Promise<void> {
    const thread = this.#thread
    this.#thread = undefined
    await thread?.terminate()
  }

  #start(): Worker {
    const { schemas, program = THREAD } = this.#options
    const workerData: ThreadData = { schemas }
    const thread = new Worker(program, { workerData })
    // Each comparison has its own listener; an error between two comparisons makes the next one fail.
    thread.on('error', () => {})
    thread.unref()
    return thread
  }
}
