/** Work that only one instance at a time may do: whoever holds its lease, which ends if the holder doesn't renew it. */
import type { Ask } from '../../sql/statement.ts'
import type { Connections } from '../connections/connections.ts'

const FIND = 'select holder, renewals from leases where name = $1'

/** Takes a lease that nobody has, or renews one's own, or takes one that has stood still. */
const TAKE = `insert into leases (name, holder, renewals) values ($1, $2, 1) on conflict (name) do update
  set holder = excluded.holder, renewals = leases.renewals + 1
  where leases.holder = excluded.holder or (leases.holder = $3 and leases.renewals = $4) returning renewals`

interface LeaseOptions {
  readonly name: string
  readonly holdMs: number
}

/**
 * Instances may run on machines whose clocks differ, and the database's clock may be set. So a lease has no time: it is
 * over when another instance has seen it unchanged for its length, by its own monotonic clock.
 */
export class Lease {
  readonly #connections: Connections
  readonly #options: LeaseOptions
  /** The end of this holder's lease, by the monotonic clock. */
  #held = { holder: '', until: 0 }
  /** The last lease of another holder, and when it was first seen. */
  #seen = { holder: '', renewals: 0, since: 0 }

  constructor(connections: Connections, options: LeaseOptions) {
    this.#connections = connections
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

  /** Whether nobody has taken the lease from this holder; must run in a transaction that has the turn. */
  async isOf(holder: string, ask: Ask): Promise<boolean> {
    const [row] = await ask({ text: FIND, values: [this.#options.name] })
    return row?.[0] === holder
  }

  async release(holder: string): Promise<void> {
    this.#held = { holder: '', until: 0 }
    const text = 'delete from leases where name = $1 and holder = $2'
    await this.#connections.change({ text, values: [this.#options.name, holder] })
  }

  #isHeldFor(milliseconds: number): boolean {
    return performance.now() < this.#held.until - milliseconds
  }

  async #take(holder: string): Promise<boolean> {
    const stale = this.#stoodStill()
    const values = [this.#options.name, holder, stale?.holder ?? '', stale?.renewals ?? 0]
    const taken = await this.#connections.change({ text: TAKE, values })
    if (taken.length > 0) return true
    await this.#look()
    return false
  }

  /** The lease of another holder that was seen long enough ago; it is taken only if it is still the same. */
  #stoodStill() {
    return performance.now() - this.#seen.since >= this.#options.holdMs ? this.#seen : undefined
  }

  async #look(): Promise<void> {
    const [[holder, renewals] = []] = await this.#connections.slow({ text: FIND, values: [this.#options.name] })
    if (this.#seen.holder === holder && this.#seen.renewals === renewals) return
    this.#seen = { holder: String(holder ?? ''), renewals: Number(renewals ?? 0), since: performance.now() }
  }
}
