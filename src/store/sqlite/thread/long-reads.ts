/**
 * Reads that take long, beside the thread that answers requests: in two threads of their own, which end when they had
 * nothing to read for a minute. Callers take turns, and none has more than one thread at a time.
 */
import { Worker } from 'node:worker_threads'
import type { UnderWay } from '../../../base/under-way.ts'
import type { Counted, ListedObject, ObjectQuery, ReadBy } from '../../contract.ts'
import { StoreUnavailable } from '../../errors.ts'
import { JsonRow } from '../../lists/json-row.ts'
import { readsUnderWay } from '../../lists/read-bounds.ts'
import {
  type FromReader,
  failureAgain,
  type LongRead,
  plainFailure,
  type ReaderData,
  type ToReader,
} from './messages.ts'

// .ts in a checkout, .js in the package.
const THREAD = new URL(import.meta.url.endsWith('.ts') ? './reader-thread.ts' : './reader-thread.js', import.meta.url)

const MOST_THREADS = 2
const IDLE_MS = 60_000

interface Waiting {
  readonly caller: string
  readonly message: ToReader
  readonly settle: (answer: FromReader) => void
}

interface Reader {
  readonly worker: Worker
  reads: Waiting | undefined
  end: NodeJS.Timeout | undefined
}

export class LongReads {
  readonly #data: ReaderData
  readonly #underWay: UnderWay
  readonly #readers = new Set<Reader>()
  /** By caller, in rotation. */
  readonly #waiting = new Map<string, Waiting[]>()
  #isClosed = false

  constructor(data: ReaderData) {
    this.#data = data
    this.#underWay = readsUnderWay(data.bounds)
  }

  /** Throws errors of the contract, and the reason why `by` is gone. */
  async list(resource: string, query: ObjectQuery, by: ReadBy | undefined): Promise<readonly ListedObject[]> {
    const answer = await this.#ask({ kind: 'list', resource, query }, by)
    return answer.kind === 'list' ? answer.rows.map((row) => new JsonRow(...row)) : []
  }

  /** Throws what `list` throws. */
  async count(resource: string, query: Pick<ObjectQuery, 'where' | 'filter'>, by: ReadBy | undefined) {
    const answer = await this.#ask({ kind: 'count', resource, query }, by)
    return answer.kind === 'count' ? answer.counted : NOTHING_COUNTED
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const failure = plainFailure(unavailable('the database is closed'))
    for (const waiting of [...this.#waiting.values()].flat()) waiting.settle({ kind: 'failure', failure })
    this.#waiting.clear()
    for (const { reads } of this.#readers) if (reads) stop(reads.message)
    await Promise.all([...this.#readers].map(({ worker }) => worker.terminate()))
  }

  #ask(read: LongRead, by: ReadBy | undefined): Promise<FromReader> {
    const caller = by?.whose ?? ''
    return this.#underWay.run(caller, () => this.#answered(caller, read, by?.gone()))
  }

  async #answered(caller: string, read: LongRead, gone: AbortSignal | undefined): Promise<FromReader> {
    gone?.throwIfAborted()
    if (this.#isClosed) throw unavailable('the database is closed')
    const message = { read, stop: new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) }
    const { promise, resolve, reject } = Promise.withResolvers<FromReader>()
    const leave = () => {
      stop(message)
      reject(gone?.reason)
    }
    gone?.addEventListener('abort', leave, { once: true })
    this.#waiting.getOrInsertComputed(caller, () => []).push({ caller, message, settle: resolve })
    this.#next()
    try {
      const answer = await promise
      if (answer.kind === 'failure') throw failureAgain(answer.failure)
      return answer
    } finally {
      gone?.removeEventListener('abort', leave)
    }
  }

  /** Gives what waits to the threads that have nothing to read. */
  #next(): void {
    for (let next = this.#take(); next; next = this.#take()) {
      const reader = this.#free() ?? this.#start()
      clearTimeout(reader.end)
      reader.reads = next
      // What waits keeps the process from ending.
      reader.worker.ref()
      reader.worker.postMessage(next.message)
    }
  }

  /** The next read of a caller who has no thread; undefined if no thread is free for it. */
  #take(): Waiting | undefined {
    const busy = [...this.#readers].flatMap(({ reads }) => reads ?? [])
    if (busy.length >= MOST_THREADS) return undefined
    for (const [caller, waiting] of this.#waiting) {
      if (busy.some((one) => one.caller === caller)) continue
      this.#waiting.delete(caller)
      const left = waiting.filter(({ message }) => !isStopped(message))
      const next = left.shift()
      if (left.length > 0) this.#waiting.set(caller, left)
      if (next) return next
    }
    return undefined
  }

  #free(): Reader | undefined {
    return [...this.#readers].find(({ reads }) => !reads)
  }

  #start(): Reader {
    const worker = new Worker(THREAD, { name: 'reader', workerData: this.#data })
    const reader: Reader = { worker, reads: undefined, end: undefined }
    let why = 'the thread that reads ended'
    worker.on('message', (answer: FromReader) => this.#answer(reader, answer))
    worker.on('error', (error) => {
      why = `${why}: ${(error as Error)?.message}`
    })
    worker.on('exit', () => {
      this.#readers.delete(reader)
      clearTimeout(reader.end)
      this.#answer(reader, { kind: 'failure', failure: plainFailure(unavailable(why)) })
    })
    this.#readers.add(reader)
    return reader
  }

  #answer(reader: Reader, answer: FromReader): void {
    const { reads, worker } = reader
    reader.reads = undefined
    worker.unref()
    clearTimeout(reader.end)
    if (this.#readers.has(reader)) reader.end = setTimeout(() => this.#end(reader), IDLE_MS).unref()
    reads?.settle(answer)
    this.#next()
  }

  #end(reader: Reader): void {
    this.#readers.delete(reader)
    void reader.worker.terminate()
  }
}

const NOTHING_COUNTED: Counted = { found: 0, isExact: false }

function stop(message: ToReader): void {
  Atomics.store(message.stop, 0, 1)
}

function isStopped(message: ToReader): boolean {
  return Atomics.load(message.stop, 0) !== 0
}

function unavailable(why: string): StoreUnavailable {
  return new StoreUnavailable(new Error(why))
}
