/**
 * Moves the records of committed writes from the store's outbox into the log, in the order of the commits. Records that
 * a crash left in the outbox are moved at the next start; records that it left in both places aren't written twice.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LogCheckpoints, LogCosignatures, Outbox, OutboxRecord } from '../store/contract.ts'
import { withSequence } from './record-line.ts'
import type { Sink } from './sink.ts'
import { CutShort } from './whole-lines.ts'

const BATCH = 500
/**
 * Each batch waits for the disk twice, so under load there are few: after a batch of many records, those of this time are
 * the next one.
 */
const BETWEEN_BATCHES_MS = 20
const MANY = 8
/** The shipper looks this often for records that another process left, and tries failed ones again. */
const EVERY_MS = 1000
/** Much less than the second for which a process holds the outbox. */
const RENEW_EVERY_MS = 200
/** If a clock is set back by less than this, no record looks older than its file. */
const CLOCK_STEP_MS = 600_000

export type ShippedOutbox = Omit<Outbox, keyof LogCheckpoints | keyof LogCosignatures>

export interface Shipper {
  /** Must be called when a write has committed: ships its record at once, or soon after the batch before. */
  wake(): void
  /** Ships the waiting records as far as possible, and stops. */
  close(): Promise<void>
}

/** Calls `report` with each error, and with undefined when shipping works again. */
export async function startShipper(
  outbox: ShippedOutbox,
  sink: Sink,
  report: (error: unknown) => void,
): Promise<Shipper> {
  // If nothing waits, no other process left half-shipped records, so the log needn't be searched for them.
  const isNothingLeft = await outbox.waiting(1).then(
    (left) => left.length === 0,
    () => false,
  )
  const shipment = new Shipment(outbox, sink, { recovered: isNothingLeft, report })
  let wanted = false
  let running: Promise<void> | undefined
  const closing = new AbortController()

  const run = async () => {
    try {
      while (wanted) {
        wanted = false
        const shipped = await shipment.shipAll()
        if (shipped > MANY)
          await sleep(BETWEEN_BATCHES_MS, undefined, { signal: closing.signal }).catch(() => undefined)
      }
    } finally {
      running = undefined
    }
  }
  const wake = () => {
    wanted = true
    running ??= run()
  }
  const timer = setInterval(wake, EVERY_MS)
  timer.unref()
  wake()
  return {
    wake,
    async close() {
      clearInterval(timer)
      closing.abort()
      wake()
      await running
      await shipment.end()
    },
  }
}

interface ShipmentOptions {
  /** No other process has shipped any of the waiting records. */
  readonly recovered: boolean
  readonly report: (error: unknown) => void
}

/** One process ships at a time: the one that holds the outbox. */
class Shipment {
  readonly #outbox: ShippedOutbox
  readonly #sink: Sink
  readonly #holder = randomUUID()
  /** The number of the last record in the log. */
  #appended = 0
  #recovered: boolean
  readonly #report: (error: unknown) => void
  #fails = false

  constructor(outbox: ShippedOutbox, sink: Sink, { recovered, report }: ShipmentOptions) {
    this.#outbox = outbox
    this.#sink = sink
    this.#recovered = recovered
    this.#report = report
  }

  /** Resolves with the number of records; errors are reported. */
  async shipAll(): Promise<number> {
    let shipped = 0
    try {
      for (let isFull = true; isFull; ) {
        const waiting = await this.#outbox.waiting(BATCH)
        if (waiting.length === 0 || !(await this.#outbox.hold(this.#holder))) break
        await this.#ship(waiting)
        shipped += waiting.length
        isFull = waiting.length === BATCH
      }
      if (this.#fails) this.#report(undefined)
      this.#fails = false
    } catch (error) {
      this.#fails = true
      this.#report(error)
    }
    return shipped
  }

  async end(): Promise<void> {
    // Without this, no other process could ship for a second.
    await this.#outbox.release(this.#holder).catch(() => undefined)
  }

  async #ship(waiting: readonly OutboxRecord[]): Promise<void> {
    const held = this.#recovered ? NONE : await this.#holding(this.#heldAlready(waiting))
    const missing = waiting.filter((row) => row.sequence > this.#appended && !(held.size > 0 && held.has(nameOf(row))))
    this.#append(missing)
    this.#recovered = true
    this.#appended = waiting.at(-1)?.sequence ?? this.#appended
    // Only records that are durable in the log may be removed from the store.
    await this.#holding(this.#sink.sync())
    await this.#outbox.shipped(this.#appended)
  }

  #append(records: readonly OutboxRecord[]): void {
    try {
      this.#sink.append(records.map(({ record, sequence }) => `${withSequence(record, sequence)}\n`).join(''))
    } catch (error) {
      // The log has these records, or finishes them before any others, so they must not be appended again.
      if (error instanceof CutShort) this.#appended = records[error.begun - 1]?.sequence ?? this.#appended
      throw error
    }
  }

  /**
   * Holds the outbox however long the disk takes: otherwise another process would ship to its own log the records that
   * this log already has.
   */
  async #holding<T>(work: Promise<T>): Promise<T> {
    const renewal = setInterval(() => this.#outbox.hold(this.#holder).catch(() => undefined), RENEW_EVERY_MS)
    try {
      return await work
    } finally {
      clearInterval(renewal)
    }
  }

  /**
   * Finds waiting records that are already in the log: the previous process may have ended between the log and the
   * outbox.
   */
  #heldAlready(waiting: readonly OutboxRecord[]): Promise<ReadonlySet<string>> {
    const sequences = waiting.map(({ sequence }) => sequence)
    const times = waiting.map((one) => Date.parse(partsOf(one).time ?? ''))
    return this.#sink.holds(new Set(sequences), Math.min(...times) - CLOCK_STEP_MS)
  }
}

const NONE: ReadonlySet<string> = new Set()

/** The name that `Sink.holds` uses for the record of a write. */
function nameOf(one: OutboxRecord): string {
  return `${one.sequence} ${partsOf(one).requestId}`
}

/** A damaged record must not keep later records out of the log. */
function partsOf({ record }: OutboxRecord): { readonly time?: string; readonly requestId?: string } {
  try {
    return JSON.parse(record) ?? {}
  } catch {
    return {}
  }
}
