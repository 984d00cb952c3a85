/** Work that only one process at a time may do: whoever holds its lease, which ends if the holder doesn't renew it. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { GroupCommits } from './commits.ts'

/** The end of this holder's lease: milliseconds since the epoch, and since the start of the process. */
const NOT_HELD = { holder: '', until: 0, untilHere: 0 }

const FIND = 'select holder, until from leases where name = ?'

const TAKE = `insert into leases (name, holder, until) values (?, ?, ?) on conflict (name) do update
  set holder = excluded.holder, until = excluded.until`

interface Held {
  readonly holder: string
  /** Milliseconds since the epoch. */
  readonly until: number
}

interface LeaseOptions {
  readonly name: string
  readonly holdMs: number
  readonly now: () => Date
}

export class Lease {
  readonly #find: StatementSync
  readonly #hold: StatementSync
  readonly #release: StatementSync
  readonly #commits: GroupCommits
  readonly #options: LeaseOptions
  #held = NOT_HELD
  /** The last lease of another holder, and the time when it was first seen, by the monotonic clock. */
  #seen: Held & { readonly since: number } = { holder: '', until: 0, since: 0 }

  constructor(database: DatabaseSync, commits: GroupCommits, options: LeaseOptions) {
    this.#commits = commits
    this.#options = options
    this.#find = database.prepare(FIND)
    this.#hold = database.prepare(TAKE)
    this.#release = database.prepare('delete from leases where name = ? and holder = ?')
  }

  async hold(holder: string): Promise<boolean> {
    const { holdMs, now } = this.#options
    // Each renewal waits for the disk, so not every batch renews the lease.
    if (this.#held.holder === holder && this.#isHeldFor(holdMs / 2)) return true
    const [until, untilHere] = [now().getTime() + holdMs, performance.now() + holdMs]
    const taken = await this.#commits.write(() => this.#take({ holder, until }))
    this.#held = taken ? { holder, until, untilHere } : NOT_HELD
    // The disk may have taken longer than the lease lasts.
    return this.#isHeldFor(0)
  }

  /** Whether nobody has taken the lease from this holder; must run in a transaction. */
  isOf(holder: string): boolean {
    return this.#find.get(this.#options.name)?.holder === holder
  }

  async release(holder: string): Promise<void> {
    this.#held = NOT_HELD
    await this.#commits.write(() => this.#release.run(this.#options.name, holder))
  }

  /**
   * Both clocks must agree: other processes use the system clock, which somebody may set; the monotonic clock only runs
   * forward.
   */
  #isHeldFor(milliseconds: number): boolean {
    const { until, untilHere } = this.#held
    return this.#options.now().getTime() < until - milliseconds && performance.now() < untilHere - milliseconds
  }

  #take({ holder, until }: Held): boolean {
    const { name, now } = this.#options
    const found = this.#find.get(name) as Held | undefined
    const isFree = !found || found.holder === holder || found.until <= now().getTime() || this.#standsStill(found)
    if (isFree) this.#hold.run(name, holder, until)
    return isFree
  }

  /**
   * A running process renews its lease. After the clock is set back, the lease of a dead process would seem to
   * continue.
   */
  #standsStill({ holder, until }: Held): boolean {
    const now = performance.now()
    if (this.#seen.holder !== holder || this.#seen.until !== until) this.#seen = { holder, until, since: now }
    return now - this.#seen.since >= this.#options.holdMs
  }
}
