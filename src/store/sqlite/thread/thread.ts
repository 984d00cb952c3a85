/**
 * Asks a thread that works on databases for this process. Calls of one turn of the event loop go with one message. If
 * the thread ends, all that wait fail, and the next call starts another one.
 */
import { Worker } from 'node:worker_threads'
import { StoreUnavailable } from '../../errors.ts'
import { type Call, failureAgain, type Opening, type ThreadAnswer, type ToThread } from './messages.ts'

// .ts in a checkout, .js in the package.
const PROGRAM = new URL(import.meta.url.endsWith('.ts') ? './program.ts' : './program.js', import.meta.url)

/** More than a fast disk takes in a second. */
export const MOST_WAITING = 4096

/** Where nothing is written at a start, the thread leaves the CPU to the first requests. */
const START_AFTER_MS = 1000

const NEVER = { at: Number.NEGATIVE_INFINITY, why: '' }

interface WaitingCall {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

interface ThreadOptions {
  readonly name: string
  /** The noun of the thread in messages. */
  readonly what: string
  /** See giveWay. */
  readonly niceness?: number
  /** A thread that ends again and again isn't started more often. */
  readonly restartMs: number
}

/** Methods as they are called from another thread. */
export type Remote<T> = {
  readonly [M in keyof T]: T[M] extends (...args: infer A) => infer R ? (...args: A) => Promise<Awaited<R>> : never
}

export class DatabaseThread {
  readonly #options: ThreadOptions
  readonly #openings = new Map<number, Opening>()
  readonly #waiting = new Map<number, WaitingCall>()
  #worker: Worker | undefined
  #soon: NodeJS.Timeout | undefined
  #unsent: Call[] = []
  #last = 0
  #ended = NEVER

  constructor(options: ThreadOptions) {
    this.#options = options
  }

  open(opening: Opening): number {
    this.#last += 1
    this.#openings.set(this.#last, opening)
    if (this.#worker) this.#worker.postMessage({ kind: 'open', part: this.#last, opening } satisfies ToThread)
    else this.#soon ??= setTimeout(() => this.#start(), START_AFTER_MS).unref()
    return this.#last
  }

  ask(call: Omit<Call, 'id'>): Promise<unknown> {
    if (this.#waiting.size >= MOST_WAITING) return Promise.reject(unavailable(`${MOST_WAITING} writes wait already`))
    if (!this.#openings.has(call.part)) return Promise.reject(unavailable('the database is closed'))
    this.#last += 1
    const id = this.#last
    if (this.#unsent.length === 0) setImmediate(() => this.#send())
    this.#unsent.push({ id, ...call })
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }))
  }

  /** Ends the thread with the last part. All calls of the part must have been answered. */
  async close(part: number): Promise<void> {
    if (!this.#openings.delete(part) || this.#openings.size > 0) return
    clearTimeout(this.#soon)
    this.#soon = undefined
    this.#ended = NEVER
    const worker = this.#worker
    this.#worker = undefined
    await worker?.terminate()
  }

  /** All that wait fail, also what isn't sent yet: it would start the thread again. */
  async end(): Promise<void> {
    clearTimeout(this.#soon)
    const worker = this.#worker
    this.#fail(`${this.#options.what} ended`)
    await worker?.terminate()
  }

  #send(): void {
    const calls = this.#unsent
    if (calls.length === 0) return
    this.#unsent = []
    if (!this.#worker && performance.now() - this.#ended.at < this.#options.restartMs) {
      for (const { id } of calls) this.#settle({ id }, unavailable(this.#ended.why))
      return
    }
    const worker = this.#worker ?? this.#start()
    // What waits keeps the process from ending.
    worker.ref()
    try {
      worker.postMessage({ kind: 'ask', calls } satisfies ToThread)
    } catch {
      for (const call of calls) this.#sendAlone(worker, call)
    }
  }

  /** What can't be sent must not keep the others back. */
  #sendAlone(worker: Worker, call: Call): void {
    try {
      worker.postMessage({ kind: 'ask', calls: [call] } satisfies ToThread)
    } catch (error) {
      this.#settle(call, new StoreUnavailable(error))
    }
  }

  #start(): Worker {
    clearTimeout(this.#soon)
    this.#soon = undefined
    const { name, what, niceness } = this.#options
    const worker = new Worker(PROGRAM, { name, workerData: { niceness } })
    worker.unref()
    let why = `${what} ended`
    worker.on('message', (answers: readonly ThreadAnswer[]) => {
      for (const answer of answers) this.#settle(answer, answer.failure && failureAgain(answer.failure))
    })
    worker.on('error', (error) => {
      why = `${why}: ${(error as Error)?.message}`
    })
    worker.on('exit', () => {
      if (this.#worker === worker) this.#fail(why)
    })
    for (const [part, opening] of this.#openings) {
      worker.postMessage({ kind: 'open', part, opening } satisfies ToThread)
    }
    this.#worker = worker
    return worker
  }

  /** Nobody knows whether what was sent is stored. */
  #fail(why: string): void {
    this.#worker = undefined
    this.#ended = { at: performance.now(), why }
    this.#unsent = []
    for (const id of this.#waiting.keys()) this.#settle({ id }, unavailable(why))
  }

  #settle({ id, value }: Pick<ThreadAnswer, 'id' | 'value'>, failure: Error | undefined): void {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (this.#waiting.size === 0) this.#worker?.unref()
    if (failure) waiting?.reject(failure)
    else waiting?.resolve(value)
  }
}

/** A part of a database that the thread has open. */
export class ThreadPart {
  readonly #thread: DatabaseThread
  readonly #number: number
  readonly #now: () => Date

  constructor(thread: DatabaseThread, opening: Opening, now: () => Date) {
    this.#thread = thread
    this.#number = thread.open(opening)
    this.#now = now
  }

  /** The methods of one of the part's targets. `asked`: called before each. */
  remote<T extends object>(target: string, asked = () => {}): Remote<T> {
    const methods: Record<string, (...args: readonly unknown[]) => Promise<unknown>> = {}
    return new Proxy(methods, {
      get: (_, method: string) => {
        methods[method] ??= (...args) => {
          asked()
          return this.#thread.ask({ part: this.#number, target, method, args, now: this.#now().getTime() })
        }
        return methods[method]
      },
    }) as Remote<T>
  }

  /** After all that was asked before. */
  async close(): Promise<void> {
    const { close } = this.remote<{ close(): Promise<void> }>('part')
    // A thread that ended has nothing open.
    await close().catch(() => undefined)
    await this.#thread.close(this.#number)
  }
}

export function unavailable(why: string): StoreUnavailable {
  return new StoreUnavailable(new Error(why))
}
