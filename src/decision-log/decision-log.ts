/** The decision log: records of reads and refusals go straight to it, those of writes go through the store's outbox. */
import type { Outbox } from '../store/contract.ts'
import { type Shipper, startShipper } from './shipper.ts'
import type { Sink } from './sink.ts'
import { CutShort } from './whole-lines.ts'

export type DecisionLogEvent =
  /**
   * Records can't be written; those of writes wait in the store, the others are lost, or their requests are refused.
   */
  | { readonly kind: 'failing'; readonly error: unknown }
  | { readonly kind: 'working'; readonly lost: number }
  | { readonly kind: 'lost' }

export interface DecisionLog {
  /**
   * Notes the start, once the server listens; at the latest, it is noted with the first other record. A start that fails
   * leaves none.
   */
  begin(): void
  /** Takes a line without its end. Resolves when the operating system has it; rejects if it can't be written. */
  note(line: string): Promise<void>
  /** Like `note`, but nobody waits: a line that can't be written is reported as lost. */
  noteUnawaited(line: string): void
  /** Takes whole lines that another process made, each with its end. Otherwise like `note`. */
  noteLines(lines: string): Promise<void>
  /** Must be called when a write is committed with its record. */
  committed(): void
  /** Continues in a new file if the old one was moved away (SIGHUP). */
  reopen(): void
  readonly failing: boolean
  close(): Promise<void>
}

/** Records of the log itself, each a line. */
export interface LogRecords {
  start(): string
  stop(): string
  /** So many records couldn't be written. */
  lost(count: number): string
}

interface DecisionLogParts {
  readonly sink: Sink
  readonly outbox: Outbox
  readonly records: LogRecords
  /** What follows the file of the log: closed in this order, when the log has its last line. */
  readonly readers?: readonly { close(): Promise<void> }[]
}

export async function openDecisionLog(
  { sink, outbox, records, readers = [] }: DecisionLogParts,
  report: (event: DecisionLogEvent) => void,
): Promise<DecisionLog> {
  /** Lost records that no record tells of yet. */
  let untold = 0
  const reportAndRecord = (event: DecisionLogEvent) => {
    report(event)
    if (event.kind !== 'working') return
    untold += event.lost
    if (untold > 0) lines.add(telling(untold))
  }
  const telling = (told: number): PendingLine => ({
    line: records.lost(told),
    done: () => {
      untold -= told
    },
    // It is counted as lost, too.
    failed: () => {
      untold -= 1
    },
  })
  const lines: Lines = new Lines((text) => sink.append(text), reportAndRecord)
  let begun = false
  const begin = () => {
    if (begun) return
    begun = true
    lines.add({ line: records.start() })
    // Before the record of a write, which the shipper writes.
    lines.flush()
  }
  const shipper: Shipper = await startShipper(outbox, sink, (error) => lines.shipping(error))
  return {
    begin,
    note(line) {
      begin()
      return lines.written(line)
    },
    noteLines(text) {
      begin()
      return lines.written(text.slice(0, -1))
    },
    noteUnawaited(line) {
      begin()
      lines.add({ line })
    },
    committed() {
      begin()
      shipper.wake()
    },
    reopen: () => sink.reopen(),
    get failing() {
      return lines.failing
    },
    async close() {
      await shipper.close()
      if (begun) lines.add({ line: records.stop() })
      lines.flush()
      // If the log works again with its last line, it has one more.
      lines.flush()
      sink.close()
      for (const reader of readers) await reader.close()
    },
  }
}

interface PendingLine {
  readonly line: string
  /** Set if a request waits. */
  readonly done?: () => void
  readonly failed?: (error: unknown) => void
}

/** Passes whole lines on, all of them or none; throws or rejects if it can't. */
type AppendLines = (lines: string) => void | Promise<void>

/** Lines of the same turn of the event loop are written together. */
export class Lines {
  readonly #append: AppendLines
  readonly #report: (event: DecisionLogEvent) => void
  #pending: PendingLine[] = []
  #lost = 0
  #noteFails = false
  #shippingFails = false

  constructor(append: AppendLines, report: (event: DecisionLogEvent) => void) {
    this.#append = append
    this.#report = report
  }

  get failing(): boolean {
    return this.#noteFails || this.#shippingFails
  }

  /** Resolves when the line is written, and rejects if it can't be. */
  written(line: string): Promise<void> {
    return new Promise((done, failed) => {
      this.add({ line, done, failed })
    })
  }

  add(pending: PendingLine): void {
    if (this.#pending.length === 0) setImmediate(() => this.flush())
    this.#pending.push(pending)
  }

  flush(): void {
    const pending = this.#pending
    if (pending.length === 0) return
    this.#pending = []
    try {
      const appended = this.#append(pending.map(({ line }) => `${line}\n`).join(''))
      if (appended instanceof Promise) {
        appended.then(
          () => this.#written(pending),
          (error) => this.#failed(pending, error),
        )
      } else this.#written(pending)
    } catch (error) {
      this.#failed(pending, error)
    }
  }

  #written(pending: readonly PendingLine[]): void {
    for (const { done } of pending) done?.()
    this.#setFailing({ noteFails: false, shippingFails: this.#shippingFails })
  }

  /**
   * A cut write contains its first records. A record that was only begun isn't lost, but it is too late for its
   * request.
   */
  #failed(pending: readonly PendingLine[], error: unknown): void {
    const { whole, begun } = error instanceof CutShort ? error : { whole: 0, begun: 0 }
    let lines = 0
    for (const { line, done, failed } of pending) {
      lines += line.split('\n').length
      if (lines <= whole) done?.()
      else failed?.(error)
      if (lines <= begun) continue
      this.#lost += 1
      this.#report({ kind: 'lost' })
    }
    this.#setFailing({ noteFails: true, shippingFails: this.#shippingFails }, error)
  }

  shipping(error: unknown): void {
    this.#setFailing({ noteFails: this.#noteFails, shippingFails: error !== undefined }, error)
  }

  /** Reports once when the log begins to fail, and once when it works again. */
  #setFailing({ noteFails, shippingFails }: { noteFails: boolean; shippingFails: boolean }, error?: unknown): void {
    const before = this.failing
    this.#noteFails = noteFails
    this.#shippingFails = shippingFails
    if (this.failing === before) return
    if (this.failing) {
      this.#report({ kind: 'failing', error })
      return
    }
    this.#report({ kind: 'working', lost: this.#lost })
    this.#lost = 0
  }
}
