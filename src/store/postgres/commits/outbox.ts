/** The outbox holds decision records, which commit with their writes, until they are in the decision log. */
import type { Outbox, OutboxRecord } from '../../contract.ts'
import type { Connections } from '../connections/connections.ts'
import type { Parameters } from '../query/statement.ts'
import { decodeText, encodeText } from '../stored-text.ts'

const HOLD_MS = 1000
/** The name of the only lease. */
const OUTBOX = 'outbox'

const FIND = 'select holder, renewals from leases where name = $1'

/** Takes a lease that nobody has, or renews one's own, or takes one that has stood still. */
const TAKE = `insert into leases (name, holder, renewals) values ($1, $2, 1) on conflict (name) do update
  set holder = excluded.holder, renewals = leases.renewals + 1
  where leases.holder = excluded.holder or (leases.holder = $3 and leases.renewals = $4) returning renewals`

/** A statement that adds a record if the part `changed` of the statement has a row. */
export function recordSql(record: string, changed: string, to: Parameters): string {
  return `insert into outbox (record) select ${to.bind(encodeText(record))}::text from ${changed}`
}

/**
 * Instances may run on machines whose clocks differ, and the database's clock may be set. So a lease has no time: it is
 * over when another instance has seen it unchanged for a second of its own monotonic clock.
 */
export class PostgresOutbox implements Outbox {
  readonly #connections: Connections
  /** The end of this holder's lease, by the monotonic clock. */
  #heldUntil = 0
  /** The last lease of another holder, and when it was first seen. */
  #seen = { holder: '', renewals: 0, since: 0 }

  constructor(connections: Connections) {
    this.#connections = connections
  }

  async waiting(limit: number): Promise<readonly OutboxRecord[]> {
    const text = 'select sequence, record from outbox order by sequence limit $1'
    const rows = await this.#connections.slow({ text, values: [limit] })
    return rows.map(([sequence, record]) => ({ sequence: Number(sequence), record: decodeText(String(record)) }))
  }

  async shipped(sequence: number): Promise<void> {
    await this.#connections.slow({ text: 'delete from outbox where sequence <= $1', values: [sequence] })
  }

  async hold(holder: string): Promise<boolean> {
    // Each renewal waits for the disk, so not every batch renews the lease.
    if (this.#isHeldFor(HOLD_MS / 2)) return true
    const asked = performance.now()
    const taken = await this.#take(holder)
    this.#heldUntil = taken ? asked + HOLD_MS : 0
    // The disk may have taken longer than the lease lasts.
    return this.#isHeldFor(0)
  }

  async release(holder: string): Promise<void> {
    this.#heldUntil = 0
    const text = 'delete from leases where name = $1 and holder = $2'
    await this.#connections.slow({ text, values: [OUTBOX, holder] })
  }

  #isHeldFor(milliseconds: number): boolean {
    return performance.now() < this.#heldUntil - milliseconds
  }

  async #take(holder: string): Promise<boolean> {
    const stale = this.#stoodStill()
    const values = [OUTBOX, holder, stale?.holder ?? '', stale?.renewals ?? 0]
    const taken = await this.#connections.slow({ text: TAKE, values })
    if (taken.length > 0) return true
    await this.#look()
    return false
  }

  /** The lease of another holder that was seen a second ago; it is taken only if it is still the same. */
  #stoodStill() {
    return performance.now() - this.#seen.since >= HOLD_MS ? this.#seen : undefined
  }

  async #look(): Promise<void> {
    const [[holder, renewals] = []] = await this.#connections.slow({ text: FIND, values: [OUTBOX] })
    if (this.#seen.holder === holder && this.#seen.renewals === renewals) return
    this.#seen = { holder: String(holder ?? ''), renewals: Number(renewals ?? 0), since: performance.now() }
  }
}
