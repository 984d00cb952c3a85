/** The outbox holds decision records, which commit with their writes, until they are in the decision log. */

import type { Outbox, OutboxRecord } from '../../contract.ts'
import type { Statement } from '../../sql/statement.ts'
import type { Connections } from '../connections/connections.ts'
import { answering } from '../failures.ts'
import type { Parameters } from '../query/statement.ts'
import { decodeText, encodeText } from '../stored-text.ts'
import { Lease } from './lease.ts'

const HOLD_MS = 1000

/** A statement that adds a record if the part `changed` of the statement has a row. */
export function recordSql(record: string, changed: string, to: Parameters): string {
  return `insert into outbox (record) select ${to.bind(encodeText(record))}::text from ${changed}`
}

/** Adds records in this order. */
export function addRecords(records: readonly string[]): Statement {
  const text = `insert into outbox (record) select r.record from unnest($1::text[]) with ordinality as r(record, at)
    order by r.at`
  return { text, values: [records.map(encodeText)] }
}

export class PostgresOutbox implements Outbox {
  readonly #connections: Connections
  readonly #lease: Lease

  constructor(connections: Connections) {
    this.#connections = connections
    this.#lease = new Lease(connections, { name: 'outbox', holdMs: HOLD_MS })
  }

  async note(records: readonly string[]): Promise<void> {
    await answering(() => this.#connections.writer.transaction((ask) => ask(addRecords(records))))
  }

  async waiting(limit: number): Promise<readonly OutboxRecord[]> {
    const text = 'select sequence, record from outbox order by sequence limit $1'
    const rows = await this.#connections.slow({ text, values: [limit] })
    return rows.map(([sequence, record]) => ({ sequence: Number(sequence), record: decodeText(String(record)) }))
  }

  async shipped(sequence: number): Promise<void> {
    await this.#connections.change({ text: 'delete from outbox where sequence <= $1', values: [sequence] })
  }

  hold(holder: string): Promise<boolean> {
    return this.#lease.hold(holder)
  }

  release(holder: string): Promise<void> {
    return this.#lease.release(holder)
  }
}
