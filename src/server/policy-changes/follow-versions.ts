/**
 * Follows the policy that is published in the database: asks for the last version many times a second, and knows for
 * how long it could not ask. Blocks are loaded first, and also while the rules of a version are loaded or are broken.
 */
import type { LivePolicy } from '../../policy/live-policy.ts'
import type { PublishedSource } from '../../policy/published/published-source.ts'

/** So often that a version is in force within a second also on a busy machine; a look is one row of an index. */
const POLL_MS = 100
/** A question that takes longer counts as one without an answer. */
const PATIENCE_MS = 2000

export interface FollowOptions {
  readonly policy: LivePolicy
  readonly source: PublishedSource
  /** How long the last good policy decides without an answer. */
  readonly maxAgeMs: number
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** All versions up to this number are in force; called with the same number again. Must not throw. */
  readonly reached: (sequence: number) => void
  /** The state has changed; `error` is why the versions can't be read. */
  readonly tell: (state: ChannelState, error?: unknown) => void
}

/** `expired`: requests are refused, because the policy may be out of date. */
export type ChannelState = 'answers' | 'lost' | 'expired'

/** Whether the published versions can be read. */
export interface PolicyChannel {
  /** `now`: milliseconds since the epoch. */
  state(now: number): ChannelState
  /** Since the last answer. */
  ageMs(now: number): number
}

export class VersionFollower implements PolicyChannel {
  readonly #options: FollowOptions
  readonly #timer: NodeJS.Timeout
  /** The time of the last answer, by two clocks: the system clock may be set, and the other one stops with a machine. */
  #heard: { readonly now: number; readonly here: number }
  #failure: { readonly error: unknown } | undefined
  #asking = false
  #loading = false
  /** Something came while rules were loaded. */
  #more = false
  #told: ChannelState = 'answers'
  #closed = false

  /** The source has looked just now. */
  constructor(options: FollowOptions) {
    this.#options = options
    this.#heard = this.#clocks()
    this.#timer = setInterval(() => void this.#poll(), POLL_MS)
    this.#timer.unref()
  }

  state(now: number): ChannelState {
    const age = this.ageMs(now)
    if (age > this.#options.maxAgeMs) return 'expired'
    return this.#failure || age > PATIENCE_MS ? 'lost' : 'answers'
  }

  ageMs(now: number): number {
    return Math.max(now - this.#heard.now, performance.now() - this.#heard.here)
  }

  /** Tells nothing more, whatever is still on its way. */
  close(): void {
    this.#closed = true
    clearInterval(this.#timer)
  }

  async #poll(): Promise<void> {
    this.#tellChange()
    if (this.#asking) return
    this.#asking = true
    try {
      const asked = this.#clocks()
      const isNew = await this.#options.source.look()
      this.#heard = asked
      this.#failure = undefined
      const { unread } = this.#options.policy
      if (isNew || unread.rules || unread.blocked) await this.#load()
    } catch (error) {
      this.#failure = { error }
    }
    this.#asking = false
    this.#tellChange()
  }

  async #load(): Promise<void> {
    await this.#options.policy.reload({ rules: await this.#hasSameRules(), blocked: true })
    this.#tellReached()
    this.#more = this.#loading
    if (!this.#loading) void this.#loadRules()
  }

  /** Then the whole version is in force at once, and its event has its number. */
  async #hasSameRules(): Promise<boolean> {
    if (this.#loading) return false
    const { refusal, files } = await this.#options.source.read()
    return refusal === undefined && this.#options.policy.hasRules(files())
  }

  /** Not awaited: very many rules take long, and blocks don't wait for them. */
  async #loadRules(): Promise<void> {
    this.#loading = true
    do {
      this.#more = false
      await this.#options.policy.reload({ rules: true, blocked: false })
      this.#tellReached()
    } while (this.#more)
    this.#loading = false
  }

  #tellReached(): void {
    const { policy, reached } = this.#options
    if (!this.#closed) reached(policy.active.sequence ?? 0)
  }

  #tellChange(): void {
    const { now, tell } = this.#options
    const state = this.state(now())
    if (this.#closed || state === this.#told) return
    this.#told = state
    tell(state, this.#failure?.error)
  }

  #clocks() {
    return { now: this.#options.now(), here: performance.now() }
  }
}
