/** Work that only one process at a time may do: whoever holds its lease, which ends if the holder doesn't renew it. */
import { type SqlEngine, sql, type Work } from './statement.ts'

interface LeaseOptions {
  readonly name: string
  readonly holdMs: number
}

/**
 * Clocks of machines differ, and somebody may set them. So a lease is over when another process has seen its mark
 * unchanged for its length, by its own monotonic clock. A renewal changes the mark, and only a larger one is written.
 */
export class Lease {
  readonly #engine: SqlEngine
  readonly #options: LeaseOptions
  /** The end of this holder's lease, by the monotonic clock. */
  #held = { holder: '', until: 0 }
  /** The last lease of another holder, and when it was first seen. */
  #seen = { holder: '', mark: 0, since: 0 }

  constructor(engine: SqlEngine, options: LeaseOptions) {
    this.#engine = engine
    this.#options = options
  }

  async hold(holder: string): Promise<boolean> {
    const { holdMs } = this.#options
    // Each renewal waits for the disk, so not every batch renews the lease.
    if (this.#held.holder === holder && this.#isHeldFor(holdMs / 2)) return true
    const asked = performance.now()
    const taken = await this.#take(holder)
    this.#held = { holder, until: taken ? asked + holdMs : 0 }
    // The disk may have taken longer than the lease lasts.
    return this.#isHeldFor(0)
  }

  /** Whether nobody has taken the lease from this holder; must run in a transaction. */
  *isOf(holder: string): Work<boolean> {
    const [row] = yield sql('select holder from leases where name = $1', this.#options.name)
    return row?.[0] === holder
  }

  async release(holder: string): Promise<void> {
    this.#held = { holder: '', until: 0 }
    await this.#engine.change(sql('delete from leases where name = $1 and holder = $2', this.#options.name, holder))
  }

  #isHeldFor(milliseconds: number): boolean {
    return performance.now() < this.#held.until - milliseconds
  }

  /** Takes a lease that nobody has, or renews one's own, or takes one that has stood still. */
  async #take(holder: string): Promise<boolean> {
    const { dialect, now, change } = this.#engine
    const { name, holdMs } = this.#options
    const [mark, stale] = [dialect.leaseMark, this.#stoodStill()]
    const taken = await change(
      sql(
        `insert into leases (name, holder, ${mark}) values ($1, $2, $3) on conflict (name) do update
          set holder = excluded.holder, ${mark} = ${dialect.greatest}(excluded.${mark}, leases.${mark} + 1)
          where leases.holder = excluded.holder or (leases.holder = $4 and leases.${mark} = $5) returning 1`,
        name,
        holder,
        now().getTime() + holdMs,
        stale?.holder ?? '',
        stale?.mark ?? 0,
      ),
    )
    if (taken.length > 0) return true
    await this.#look()
    return false
  }

  /** The lease of another holder that was seen long enough ago; it is taken only if it is still the same. */
  #stoodStill() {
    return performance.now() - this.#seen.since >= this.#options.holdMs ? this.#seen : undefined
  }

  async #look(): Promise<void> {
    const find = `select holder, ${this.#engine.dialect.leaseMark} from leases where name = $1`
    const [[holder = '', mark = 0] = []] = await this.#engine.ask(sql(find, this.#options.name))
    if (this.#seen.holder === holder && this.#seen.mark === mark) return
    this.#seen = { holder: String(holder), mark: Number(mark), since: performance.now() }
  }
}
