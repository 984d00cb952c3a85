/** The outbox holds decision records, which commit with their writes, until they are in the decision log. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Outbox, OutboxRecord } from '../../contract.ts'
import { answering } from '../database.ts'
import type { GroupCommits } from './commits.ts'
import { Lease } from './lease.ts'

const HOLD_MS = 1000

export class SqliteOutbox implements Outbox {
  readonly #add: StatementSync
  readonly #waiting: StatementSync
  readonly #shipped: StatementSync
  readonly #commits: GroupCommits
  readonly #lease: Lease

  constructor(database: DatabaseSync, commits: GroupCommits, now: () => Date) {
    this.#commits = commits
    this.#lease = new Lease(database, commits, { name: 'outbox', holdMs: HOLD_MS, now })
    this.#add = database.prepare('insert into outbox (record) values (?)')
    this.#waiting = database.prepare('select sequence, record from outbox order by sequence limit ?')
    this.#shipped = database.prepare('delete from outbox where sequence <= ?')
  }

  /** Must run in the transaction of the write that the record is about. */
  add(record: string): void {
    this.#add.run(record)
  }

  note(records: readonly string[]): Promise<void> {
    return this.#commits.write(() => {
      for (const record of records) this.add(record)
    })
  }

  async waiting(limit: number): Promise<readonly OutboxRecord[]> {
    return answering(() => this.#waiting.all(limit)) as unknown as readonly OutboxRecord[]
  }

  async shipped(sequence: number): Promise<void> {
    await this.#commits.join(() => this.#shipped.run(sequence))
  }

  hold(holder: string): Promise<boolean> {
    return this.#lease.hold(holder)
  }

  release(holder: string): Promise<void> {
    return this.#lease.release(holder)
  }
}
