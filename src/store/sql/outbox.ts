/** The outbox holds decision records, which commit with their writes, until they are in the decision log. */
import type { LogCosignature, LogOffer, Outbox, OutboxRecord } from '../contract.ts'
import { Lease } from './lease.ts'
import {
  type DatedMarks,
  datedMarks,
  dropAllButNewest,
  dropBefore,
  readMark,
  writeDatedMark,
  writeMark,
} from './named-values.ts'
import { type SqlDialect, type SqlEngine, type Statement, sql } from './statement.ts'

const HOLD_MS = 1000

/** Belongs in the transaction of the write that the record is about. */
export function addRecord({ text }: SqlDialect, record: string): Statement {
  return sql('insert into outbox (record) values ($1)', text(record))
}

/** Adds records in this order. */
export function addRecords({ text, elements }: SqlDialect, records: readonly string[]): Statement {
  const add = `insert into outbox (record) select r.value ->> 0 from ${elements('$1')} as r`
  return sql(add, JSON.stringify(records.map((record) => [text(record)])))
}

export class SqlOutbox implements Outbox {
  readonly #engine: SqlEngine
  readonly #lease: Lease

  constructor(engine: SqlEngine) {
    this.#engine = engine
    this.#lease = new Lease(engine, { name: 'outbox', holdMs: HOLD_MS })
  }

  async note(records: readonly string[]): Promise<void> {
    const { write, dialect } = this.#engine
    await write(function* () {
      yield addRecords(dialect, records)
    })
  }

  async waiting(limit: number): Promise<readonly OutboxRecord[]> {
    const { ask, dialect } = this.#engine
    const rows = await ask(sql('select sequence, record from outbox order by sequence limit $1', limit))
    return rows.map(([sequence, record]) => ({ sequence: Number(sequence), record: dialect.fromStored(record) }))
  }

  async shipped(sequence: number): Promise<void> {
    await this.#engine.changeSoon(sql('delete from outbox where sequence <= $1', sequence))
  }

  async checkpointOf(log: string): Promise<string | undefined> {
    const { ask, dialect } = this.#engine
    const [row] = await ask(readMark(markOf(log)))
    return row && dialect.fromStored(row[0])
  }

  async keepCheckpoint(log: string, note: string): Promise<void> {
    const { changeSoon, dialect } = this.#engine
    await changeSoon(writeMark(markOf(log), dialect.text(note)))
  }

  async offer(log: string, text: string): Promise<void> {
    const { changeSoon, dialect } = this.#engine
    await changeSoon(writeDatedMark(dialect, `${OFFERS.beginning}${log}`, text))
    await changeSoon(dropBefore(dialect, OFFERS.beginning, OFFER_MS))
    await changeSoon(dropAllButNewest(cosignatures(log)))
  }

  async offers(): Promise<readonly LogOffer[]> {
    return (await datedMarks(this.#engine, OFFERS)).map(([log, text]) => ({ log, text }))
  }

  async cosign(log: string, by: string, note: string): Promise<void> {
    const { changeSoon, dialect } = this.#engine
    await changeSoon(writeDatedMark(dialect, `${cosignatures(log).beginning}${by}`, note))
  }

  async cosignaturesOf(log: string): Promise<readonly LogCosignature[]> {
    return (await datedMarks(this.#engine, cosignatures(log))).map(([by, note]) => ({ by, note }))
  }

  hold(holder: string): Promise<boolean> {
    return this.#lease.hold(holder)
  }

  release(holder: string): Promise<void> {
    return this.#lease.release(holder)
  }
}

const OFFER_MS = 30 * 86_400_000
const MOST_OFFERS = 200
const MOST_COSIGNATURES = 200
/** In bytes: with a proof for each of 32 sizes. */
const LONGEST_OFFER = 64 * 1024
const LONGEST_NOTE = 8 * 1024

const OFFERS: DatedMarks = { beginning: 'log offer ', most: MOST_OFFERS, longest: LONGEST_OFFER, sinceMs: OFFER_MS }

function cosignatures(log: string): DatedMarks {
  return { beginning: `log cosigned ${log} by `, most: MOST_COSIGNATURES, longest: LONGEST_NOTE }
}

function markOf(log: string): string {
  return `decision log ${log}`
}
