/**
 * Reads that take long, beside the thread that answers requests: in two threads of their own, which end when they had
 * nothing to read for a minute. Callers take turns, and none has more than one thread at a time.
 */
import type { UnderWay } from '../../../base/under-way.ts'
import type { Counted, ListedObject, ObjectQuery, ReadBy } from '../../contract.ts'
import { JsonRow } from '../../lists/json-row.ts'
import { type ReadBounds, readsUnderWay } from '../../lists/read-bounds.ts'
import type { Opening } from './messages.ts'
import type { Reads } from './program.ts'
import { DatabaseThread, type Remote, ThreadPart, unavailable } from './thread.ts'

const MOST_THREADS = 2
const IDLE_MS = 60_000

/** Requests come first. */
const READER = { name: 'reader', what: 'the thread that reads', niceness: 5, restartMs: 0 } as const

interface WaitingRead {
  readonly caller: string
  /** Not zero: nobody waits for the answer any more. */
  readonly stop: Int32Array
  /** Resolves when the thread is free again. */
  readonly read: (thread: Remote<Reads>) => Promise<void>
  readonly reject: (error: unknown) => void
}

interface ReadingThread {
  readonly thread: DatabaseThread
  readonly remote: Remote<Reads>
  reads: WaitingRead | undefined
  end: NodeJS.Timeout | undefined
}

export class LongReads {
  readonly #opening: Opening
  readonly #underWay: UnderWay
  readonly #readers = new Set<ReadingThread>()
  /** By caller, in rotation. */
  readonly #waiting = new Map<string, WaitingRead[]>()
  #isClosed = false

  constructor(opening: Opening, bounds: ReadBounds) {
    this.#opening = opening
    this.#underWay = readsUnderWay(bounds)
  }

  /** Throws errors of the contract, and the reason why `by` is gone. */
  async list(resource: string, query: ObjectQuery, by: ReadBy | undefined): Promise<readonly ListedObject[]> {
    const rows = await this.#ask(by, (thread, stop) => thread.list(stop, resource, query))
    return rows.map((row) => new JsonRow(...row))
  }

  /** Throws what `list` throws. */
  count(resource: string, query: Pick<ObjectQuery, 'where' | 'filter'>, by: ReadBy | undefined): Promise<Counted> {
    return this.#ask(by, (thread, stop) => thread.count(stop, resource, query))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const { reject } of [...this.#waiting.values()].flat()) reject(unavailable('the database is closed'))
    this.#waiting.clear()
    for (const { reads } of this.#readers) if (reads) Atomics.store(reads.stop, 0, 1)
    await Promise.all([...this.#readers].map((reader) => this.#end(reader)))
  }

  #ask<T>(by: ReadBy | undefined, read: (thread: Remote<Reads>, stop: Int32Array) => Promise<T>): Promise<T> {
    const caller = by?.whose ?? ''
    return this.#underWay.run(caller, async () => {
      const gone = by?.gone()
      gone?.throwIfAborted()
      if (this.#isClosed) throw unavailable('the database is closed')
      const stop = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
      const { promise, resolve, reject } = Promise.withResolvers<T>()
      const leave = () => {
        Atomics.store(stop, 0, 1)
        reject(gone?.reason)
      }
      gone?.addEventListener('abort', leave, { once: true })
      const answered = (thread: Remote<Reads>) => read(thread, stop).then(resolve, reject)
      this.#waiting.getOrInsertComputed(caller, () => []).push({ caller, stop, read: answered, reject })
      this.#next()
      return promise.finally(() => gone?.removeEventListener('abort', leave))
    })
  }

  /** Gives what waits to the threads that have nothing to read. */
  #next(): void {
    for (let next = this.#take(); next; next = this.#take()) {
      void this.#read([...this.#readers].find(({ reads }) => !reads) ?? this.#start(), next)
    }
  }

  async #read(reader: ReadingThread, next: WaitingRead): Promise<void> {
    clearTimeout(reader.end)
    reader.reads = next
    await next.read(reader.remote)
    reader.reads = undefined
    if (this.#readers.has(reader)) reader.end = setTimeout(() => this.#end(reader), IDLE_MS).unref()
    this.#next()
  }

  /** The next read of a caller who has no thread; undefined if no thread is free for it. */
  #take(): WaitingRead | undefined {
    const busy = [...this.#readers].flatMap(({ reads }) => reads ?? [])
    if (busy.length >= MOST_THREADS) return undefined
    for (const [caller, waiting] of this.#waiting) {
      if (busy.some((one) => one.caller === caller)) continue
      this.#waiting.delete(caller)
      const left = waiting.filter(({ stop }) => Atomics.load(stop, 0) === 0)
      const next = left.shift()
      if (left.length > 0) this.#waiting.set(caller, left)
      if (next) return next
    }
    return undefined
  }

  #start(): ReadingThread {
    const thread = new DatabaseThread(READER)
    const remote = new ThreadPart(thread, this.#opening, () => new Date()).remote<Reads>('reads')
    const reader: ReadingThread = { thread, remote, reads: undefined, end: undefined }
    this.#readers.add(reader)
    return reader
  }

  async #end(reader: ReadingThread): Promise<void> {
    clearTimeout(reader.end)
    this.#readers.delete(reader)
    await reader.thread.end()
  }
}
