/**
 * Compares policies in a thread of its own, which is started when it is needed and ended when it isn't. The one who judges
 * a change and the one who logs it share it, so that their comparison is made once.
 */
import { Worker } from 'node:worker_threads'
import { FileError } from '../../base/diagnostic.ts'
import type { ApprovedChange, JudgeChange } from '../../policy/published/version-chain.ts'
import type { SourceText } from '../../resources/schema/schema-file.ts'
import type { ChangeSummary, FromThread, PolicyChange, ThreadData, ToCompareThread } from './summary.ts'

// .ts in a checkout, .js in the package.
const THREAD = new URL(import.meta.url.endsWith('.ts') ? './compare-thread.ts' : './compare-thread.js', import.meta.url)

/** A comparison for the log that takes longer is cancelled. */
const PATIENCE_MS = 30_000
/** What people have approved must be judged, also on a slow machine: commands publish it without such a bound. */
const JUDGED_WITHIN_MS = 20 * PATIENCE_MS
/** Several may come one after another. */
const IDLE_MS = 1000

function reasonOf(answer: FromThread): string {
  if (answer.kind === 'faulty') return new FileError(answer.diagnostics, answer.more).message
  return answer.kind === 'failed' ? answer.reason : 'the thread answered another question'
}

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
  #turn: Promise<unknown> = Promise.resolve()
  #idle: NodeJS.Timeout | undefined

  constructor(options: ComparerOptions) {
    this.#options = options
  }

  /** Rejects when the policies can't be compared, the thread ends, or it takes too long. */
  async compare(change: PolicyChange): Promise<ChangeSummary> {
    const answer = await this.#ask({ kind: 'compare', change })
    if (answer.kind === 'compared') return answer.summary
    throw new Error(reasonOf(answer))
  }

  /** Rejects as `compare` does, and with FileError for files that a server would refuse. */
  async judge({ before, after, ...change }: ApprovedChange): ReturnType<JudgeChange> {
    const sources = (one: ApprovedChange['before']) => ({ files: one.files(), blocked: one.blocked() })
    const answer = await this.#ask({
      kind: 'judge',
      change: { ...change, before: sources(before), after: sources(after) },
    })
    if (answer.kind === 'judged') return answer.judged
    if (answer.kind === 'faulty') throw new FileError(answer.diagnostics, answer.more)
    throw new Error(reasonOf(answer))
  }

  #ask(asked: ToCompareThread): Promise<FromThread> {
    const turn = this.#turn.then(() => this.#askNow(asked))
    this.#turn = turn.catch(() => {})
    return turn
  }

  async #askNow(asked: ToCompareThread): Promise<FromThread> {
    clearTimeout(this.#idle)
    this.#thread ??= this.#start()
    const thread = this.#thread
    const { promise, resolve, reject } = Promise.withResolvers<FromThread>()
    const { patienceMs = asked.kind === 'judge' ? JUDGED_WITHIN_MS : PATIENCE_MS } = this.#options
    const giveUp = setTimeout(
      () => reject(new Error(`the comparison took longer than ${patienceMs} ms`)),
      patienceMs,
    ).unref()
    const ended = () => reject(new Error('the thread of the comparison ended'))
    thread.once('message', resolve).once('error', reject).once('exit', ended)
    thread.postMessage(asked)
    try {
      const answer = await promise
      if (answer.kind !== 'failed') return answer
      throw new Error(answer.reason)
    } catch (error) {
      // The thread may be in any state, so the next comparison gets a new one.
      await this.end()
      throw error
    } finally {
      clearTimeout(giveUp)
      thread.off('message', resolve).off('error', reject).off('exit', ended)
      this.#idle = setTimeout(() => void this.end(), IDLE_MS).unref()
    }
  }

  async end(): Promise<void> {
    clearTimeout(this.#idle)
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
