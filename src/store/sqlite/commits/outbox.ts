/** The outbox holds decision records, which commit with their writes, until they are in the decision log. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Outbox, OutboxRecord } from '../../contract.ts'
import { answering } from '../database.ts'
import type { GroupCommits } from './commits.ts'

const HOLD_MS = 1000
/** The name of the only lease. */
const OUTBOX = 'outbox'
/** The end of this holder's lease: milliseconds since the epoch, and since the start of the process. */
const NOT_HELD = { until: 0, untilHere: 0 }

const FIND = 'select holder, until from leases where name = ?'

const TAKE = `insert into leases (name, holder, until) values (?, ?, ?) on conflict (name) do update
  set holder = excluded.holder, until = excluded.until`

interface Lease {
  readonly holder: string
  /** Milliseconds since the epoch. */
  readonly until: number
}

export class SqliteOutbox implements Outbox {
  readonly #add: StatementSync
  readonly #waiting: StatementSync
  readonly #shipped: StatementSync
  readonly #find: StatementSync
  readonly #hold: StatementSync
  readonly #release: StatementSync
  readonly #commits: GroupCommits
  readonly #now: () => Date
  #held = NOT_HELD
  /** The last lease of another holder, and the time when it was first seen, by the monotonic clock. */
  #seen: Lease & { readonly since: number } = { holder: '', until: 0, since: 0 }

  constructor(database: DatabaseSync, commits: GroupCommits, now: () => Date) {
    this.#commits = commits
    this.#now = now
    this.#add = database.prepare('insert into outbox (record) values (?)')
    this.#waiting = database.prepare('select sequence, record from outbox order by sequence limit ?')
    this.#shipped = database.prepare('delete from outbox where sequence <= ?')
    this.#find = database.prepare(FIND)
    this.#hold = database.prepare(TAKE)
    this.#release = database.prepare('delete from leases where name = ? and holder = ?')
  }

  /** Must run in the transaction of the write that the record is about. */
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
    // Each renewal waits for the disk, so not every batch renews the lease.
    if (this.#isHeldFor(HOLD_MS / 2)) return true
    const [until, untilHere] = [this.#now().getTime() + HOLD_MS, performance.now() + HOLD_MS]
    const taken = await this.#commits.write(() => this.#take({ holder, until }))
    this.#held = taken ? { until, untilHere } : NOT_HELD
    // The disk may have taken longer than the lease lasts.
    return this.#isHeldFor(0)
  }

  /**
   * Both clocks must agree: other processes use the system clock, which somebody may set; the monotonic clock only runs
   * forward.
   */
  #isHeldFor(milliseconds: number): boolean {
    const { until, untilHere } = this.#held
    return this.#now().getTime() < until - milliseconds && performance.now() < untilHere - milliseconds
  }

  #take({ holder, until }: Lease): boolean {
    const found = this.#find.get(OUTBOX) as Lease | undefined
    const isFree = !found || found.holder === holder || found.until <= this.#now().getTime() || this.#standsStill(found)
    if (isFree) this.#hold.run(OUTBOX, holder, until)
    return isFree
  }

  /**
   * A running process renews its lease. After the clock is set back, the lease of a dead process would seem to
   * continue.
   */
  #standsStill({ holder, until }: Lease): boolean {
    const now = performance.now()
    if (this.#seen.holder !== holder || this.#seen.until !== until) this.#seen = { holder, until, since: now }
    return now - this.#seen.since >= HOLD_MS
  }

  async release(holder: string): Promise<void> {
    this.#held = NOT_HELD
    await this.#commits.write(() => this.#release.run(OUTBOX, holder))
  }
}
