/** The outbox: decision records that committed with their writes, until they are in the decision log. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Outbox, OutboxRecord } from './contract.ts'
import type { GroupCommits } from './sqlite-commits.ts'
import { answering } from './sqlite-errors.ts'

const HOLD_MS = 1000
/** The name of the one lease there is. */
const OUTBOX = 'outbox'

/** Of a lease that is one's own or over. */
const HOLD = `insert into leases (name, holder, until) values (?, ?, ?) on conflict (name) do update
  set holder = excluded.holder, until = excluded.until where leases.holder = ? or leases.until <= ?`

export class SqliteOutbox implements Outbox {
  readonly #add: StatementSync
  readonly #waiting: StatementSync
  readonly #shipped: StatementSync
  readonly #hold: StatementSync
  readonly #release: StatementSync
  readonly #commits: GroupCommits
  readonly #now: () => Date
  /** Milliseconds since the epoch. */
  #heldUntil = 0

  constructor(database: DatabaseSync, commits: GroupCommits, now: () => Date) {
    this.#commits = commits
    this.#now = now
    this.#add = database.prepare('insert into outbox (record) values (?)')
    this.#waiting = database.prepare('select sequence, record from outbox order by sequence limit ?')
    this.#shipped = database.prepare('delete from outbox where sequence <= ?')
    this.#hold = database.prepare(HOLD)
    this.#release = database.prepare('delete from leases where name = ? and holder = ?')
  }

  /** Belongs into the transaction of the write that the record is about. */
  add(record: string): void {
    this.#add.run(record)
  }

  async waiting(limit: number): Promise<readonly OutboxRecord[]> {
    return answering(() => this.#waiting.all(limit)) as unknown as readonly OutboxRecord[]
  }

  async shipped(sequence: number): Promise<void> {
    await this.#commits.join(() => this.#shipped.run(sequence))
  }

  async hold(holder: string): Promise<boolean> {
    const now = this.#now().getTime()
    // Each renewal waits for the disk, so it isn't asked for with every batch.
    if (now < this.#heldUntil - HOLD_MS / 2) return true
    const until = now + HOLD_MS
    const { changes } = await this.#commits.write(() => this.#hold.run(OUTBOX, holder, until, holder, now))
    const held = changes === 1
    this.#heldUntil = held ? until : 0
    // The disk may have taken longer than the lease lasts.
    return this.#now().getTime() < this.#heldUntil
  }

  async release(holder: string): Promise<void> {
    this.#heldUntil = 0
    await this.#commits.write(() => this.#release.run(OUTBOX, holder))
  }
}
