/**
 * Moves the records of committed writes from the store's outbox into the log, in the order of the commits. What a crash
 * left is moved at the next start, and what it left in both places isn't written twice.
 */
import { randomUUID } from 'node:crypto'
import type { Outbox, OutboxRecord } from '../store/contract.ts'
import { withSequence } from './decision-record.ts'
import type { Sink } from './sink.ts'
import { CutShort } from './whole-lines.ts'

const BATCH = 500
/** The shipper looks this often for records that another process left, and tries failed ones again. */
const EVERY_MS = 1000
/** Well within the second for which the outbox is held. */
const RENEW_EVERY_MS = 200
/** A clock that was put back by less makes no record look older than its file. */
const CLOCK_STEP_MS = 600_000

export interface Shipper {
  /** A write has committed: its record is shipped soon. */
  wake(): void
  /** Ships what is there, as far as it can, and stops. */
  close(): Promise<void>
}

/** `tell` is told each error, and undefined when shipping works (again). */
export async function startShipper(outbox: Outbox, sink: Sink, tell: (error: unknown) => void): Promise<Shipper> {
  // No other process has shipped later records, so the log needn't be searched for them.
  const isNothingLeft = await outbox.waiting(1).then(
    (left) => left.length === 0,
    () => false,
  )
  const shipment = new Shipment(outbox, sink, isNothingLeft)
  let wanted = false
  let running: Promise<void> | undefined

  const run = async () => {
    while (wanted) {
      wanted = false
      await shipment.shipAll().then(() => tell(undefined), tell)
    }
  }
  const wake = () => {
    wanted = true
    running ??= run().finally(() => {
      running = undefined
    })
  }
  const timer = setInterval(wake, EVERY_MS)
  timer.unref()
  wake()
  return {
    wake,
    async close() {
      clearInterval(timer)
      wake()
      await running
      await shipment.end()
    },
  }
}

/** One process ships at a time: the one that holds the outbox. */
class Shipment {
  readonly #outbox: Outbox
  readonly #sink: Sink
  readonly #holder = randomUUID()
  /** The last number that is in the log. */
  #appended = 0
  #recovered: boolean

  /** `recovered`: nothing that waits has been shipped by another process. */
  constructor(outbox: Outbox, sink: Sink, recovered: boolean) {
    this.#outbox = outbox
    this.#sink = sink
    this.#recovered = recovered
  }

  async shipAll(): Promise<void> {
    let more = true
    while (more) {
      const waiting = await this.#outbox.waiting(BATCH)
      if (waiting.length === 0 || !(await this.#outbox.hold(this.#holder))) return
      await this.#ship(waiting)
      more = waiting.length === BATCH
    }
  }

  async end(): Promise<void> {
    // Without this, no other process could ship for a second.
    await this.#outbox.release(this.#holder).catch(() => undefined)
  }

  async #ship(waiting: readonly OutboxRecord[]): Promise<void> {
    const held = this.#recovered ? NONE : await this.#holding(this.#heldAlready(waiting))
    const missing = waiting.filter((row) => row.sequence > this.#appended && !held.has(nameOf(row)))
    this.#append(missing)
    this.#recovered = true
    this.#appended = waiting.at(-1)?.sequence ?? this.#appended
    // Only what is durable in the log may go from the store.
    await this.#holding(this.#sink.sync())
    await this.#outbox.shipped(this.#appended)
  }

  #append(records: readonly OutboxRecord[]): void {
    try {
      this.#sink.append(records.map(({ record, sequence }) => `${withSequence(record, sequence)}\n`).join(''))
    } catch (error) {
      // The log has these, or finishes them before it takes any other; until then they stay in the store.
      if (error instanceof CutShort) this.#appended = records[error.begun - 1]?.sequence ?? this.#appended
      throw error
    }
  }

  /** However long the disk takes: else another process would ship to its own log what is in this one already. */
  async #holding<T>(work: Promise<T>): Promise<T> {
    const renewal = setInterval(() => this.#outbox.hold(this.#holder).catch(() => undefined), RENEW_EVERY_MS)
    return work.finally(() => clearInterval(renewal))
  }

  /** The process before this one may have ended between the log and the outbox. */
  #heldAlready(waiting: readonly OutboxRecord[]): Promise<ReadonlySet<string>> {
    const sequences = waiting.map(({ sequence }) => sequence)
    const times = waiting.map((one) => Date.parse(partsOf(one).time ?? ''))
    return this.#sink.holds(new Set(sequences), Math.min(...times) - CLOCK_STEP_MS)
  }
}

const NONE: ReadonlySet<string> = new Set()

/** The name that a Sink gives to the record of a write. */
function nameOf(one: OutboxRecord): string {
  return `${one.sequence} ${partsOf(one).requestId}`
}

/** One that is damaged must not keep those behind it from the log. */
function partsOf({ record }: OutboxRecord): { readonly time?: string; readonly requestId?: string } {
  try {
    return JSON.parse(record) ?? {}
  } catch {
    return {}
  }
}
