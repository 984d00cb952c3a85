/** Work that only one process at a time may do: whoever holds its lease, which ends if the holder doesn't renew it. */
import { type SqlEngine, sql, type Work } from './statement.ts'

const NOT_HELD = { holder: '', until: 0, ends: 0 }

interface LeaseOptions {
  readonly name: string
  readonly holdMs: number
}

/**
 * Clocks of machines differ, and somebody may set them. So a lease is over when another process has seen its mark
 * unchanged for its length, by its own monotonic clock. A renewal changes the mark, and only a larger one is written.
 * Where all processes have one clock, the mark is also the end of the lease by that clock.
 */
export class Lease {
  readonly #engine: SqlEngine
  readonly #options: LeaseOptions
  /** The end of this holder's lease, by the monotonic clock and by the one that all have. */
  #held = NOT_HELD
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
    const [until, ends] = [performance.now() + holdMs, this.#engine.now().getTime() + holdMs]
    this.#held = (await this.#take(holder, ends)) ? { holder, until, ends } : NOT_HELD
    // The disk may have taken longer than the lease lasts.
    return this.#isHeldFor(0)
  }

  /** Whether nobody has taken the lease from this holder; must run in a transaction. */
  *isOf(holder: string): Work<boolean> {
    const [row] = yield sql('select holder from leases where name = $1', this.#options.name)
    return row?.[0] === holder
  }

  async release(holder: string): Promise<void> {
    this.#held = NOT_HELD
    await this.#engine.change(sql('delete from leases where name = $1 and holder = $2', this.#options.name, holder))
  }

  #isHeldFor(milliseconds: number): boolean {
    const { until, ends } = this.#held
    const isOver = this.#engine.dialect.hasOneClock && this.#engine.now().getTime() >= ends - milliseconds
    return !isOver && performance.now() < until - milliseconds
  }

  /** Takes a lease that nobody has, or renews one's own, or takes one that has stood still. */
  async #take(holder: string, ends: number): Promise<boolean> {
    const { dialect, now, change } = this.#engine
    const { name } = this.#options
    const [mark, stale] = [dialect.leaseMark, this.#stoodStill()]
    const taken = await change(
      sql(
        `insert into leases (name, holder, ${mark}) values ($1, $2, $3) on conflict (name) do update
          set holder = excluded.holder, ${mark} = ${dialect.greatest}(excluded.${mark}, leases.${mark} + 1)
          where leases.holder = excluded.holder or (leases.holder = $4 and leases.${mark} = $5)
            or leases.${mark} <= $6 returning 1`,
        name,
        holder,
        ends,
        stale?.holder ?? '',
        stale?.mark ?? 0,
        dialect.hasOneClock ? now().getTime() : 0,
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
