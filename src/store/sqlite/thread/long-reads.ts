/**
 * Reads that take long, beside the thread that answers requests: in two threads of their own, which end when they had
 * nothing to read for a minute. Callers take turns, and none has more than one thread at a time.
 */
import { UnderWay } from '../../../base/under-way.ts'
import type { AggregatedGroup, AggregateQuery, Counted, ListedObject, ObjectQuery, ReadBy } from '../../contract.ts'
import { TooManyReads } from '../../errors.ts'
import { JsonRow } from '../../lists/json-row.ts'
import type { ReadBounds } from '../../lists/read-bounds.ts'
import { Turns } from '../../lists/turns.ts'
import type { Opening } from './messages.ts'
import type { Reads } from './program.ts'
import { DatabaseThread, type Remote, ThreadPart, unavailable } from './thread.ts'

const MOST_THREADS = 2
const IDLE_MS = 60_000
/** As long as all reads of one caller take that may wait. */
const WAIT_MS = 600_000

/** Requests come first. */
const READER = { name: 'reader', what: 'the thread that reads', niceness: 5, restartMs: 0 } as const

interface ReadingThread {
  readonly thread: DatabaseThread
  readonly remote: Remote<Reads>
  /** Not zero: nobody waits for the present answer any more. Undefined: the thread reads nothing now. */
  stop: Int32Array | undefined
  end: NodeJS.Timeout | undefined
}

export class LongReads {
  readonly #opening: Opening
  readonly #underWay: UnderWay
  readonly #readers = new Set<ReadingThread>()
  readonly #turns = new Turns({ ofCaller: 1, ofAll: MOST_THREADS }, WAIT_MS)
  #isClosed = false

  constructor(opening: Opening, { most }: ReadBounds) {
    this.#opening = opening
    this.#underWay = new UnderWay(most, () => new TooManyReads())
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

  /** Throws what `list` throws. */
  aggregate(resource: string, query: AggregateQuery, by: ReadBy | undefined): Promise<readonly AggregatedGroup[]> {
    return this.#ask(by, (thread, stop) => thread.aggregate(stop, resource, query))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const { stop } of this.#readers) if (stop) Atomics.store(stop, 0, 1)
    await Promise.all([...this.#readers].map((reader) => this.#end(reader)))
  }

  #ask<T>(by: ReadBy = { whose: '' }, read: (thread: Remote<Reads>, stop: Int32Array) => Promise<T>): Promise<T> {
    return this.#underWay.run(by.whose, () => this.#turns.run(by, () => this.#read(by, read)))
  }

  async #read<T>({ gone }: ReadBy, read: (thread: Remote<Reads>, stop: Int32Array) => Promise<T>): Promise<T> {
    const signal = gone?.()
    signal?.throwIfAborted()
    if (this.#isClosed) throw unavailable('the database is closed')
    const stop = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
    signal?.addEventListener('abort', () => Atomics.store(stop, 0, 1), { once: true })
    const reader = [...this.#readers].find((one) => !one.stop) ?? this.#start()
    clearTimeout(reader.end)
    reader.stop = stop
    try {
      return await read(reader.remote, stop)
    } finally {
      reader.stop = undefined
      if (this.#readers.has(reader)) reader.end = setTimeout(() => this.#end(reader), IDLE_MS).unref()
      signal?.throwIfAborted()
    }
  }

  #start(): ReadingThread {
    const thread = new DatabaseThread(READER)
    const remote = new ThreadPart(thread, this.#opening, () => new Date()).remote<Reads>('reads')
    const reader: ReadingThread = { thread, remote, stop: undefined, end: undefined }
    this.#readers.add(reader)
    return reader
  }

  async #end(reader: ReadingThread): Promise<void> {
    clearTimeout(reader.end)
    this.#readers.delete(reader)
    await reader.thread.end()
  }
}
