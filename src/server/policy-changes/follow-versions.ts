/**
 * Follows the policy that is published in the database: asks for the last version many times a second, and knows for
 * how long it could not ask. Blocks are loaded first, and also while the rules of a version are loaded or are broken.
 * The number of the version in force is kept in a file.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { replaceFile } from '../../base/files/durable-file.ts'
import type { LivePolicy } from '../../policy/live/live-policy.ts'
import type { KeptVersion, PublishedSource } from '../../policy/published/published-source.ts'

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
  readonly report: (state: ChannelState, error?: unknown) => void
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
  #listening = false
  #loading = false
  /** Something came while rules were loaded. */
  #more = false
  #reported: ChannelState = 'answers'
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

  /** Reports nothing more, whatever is still on its way. */
  close(): void {
    this.#closed = true
    clearInterval(this.#timer)
  }

  async #poll(): Promise<void> {
    this.#reportChange()
    if (this.#asking) {
      if (this.#options.source.isJudging) await this.#listen()
      return
    }
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
    this.#reportChange()
  }

  /** A change of very many rules takes seconds to judge, and meanwhile the database may fall silent. */
  async #listen(): Promise<void> {
    if (this.#listening) return
    this.#listening = true
    try {
      const asked = this.#clocks()
      await this.#options.source.listen()
      this.#heard = asked
    } catch {
      // Without an answer the age grows.
    }
    this.#listening = false
  }

  async #load(): Promise<void> {
    await this.#options.policy.reload({ rules: await this.#hasSameRules(), blocked: true })
    this.#reportReached()
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
      this.#reportReached()
    } while (this.#more)
    this.#loading = false
  }

  #reportReached(): void {
    const { policy, reached } = this.#options
    if (!this.#closed) reached(policy.active.sequence ?? 0)
  }

  #reportChange(): void {
    const { now, report } = this.#options
    const state = this.state(now())
    if (this.#closed || state === this.#reported) return
    this.#reported = state
    report(state, this.#failure?.error)
  }

  #clocks() {
    return { now: this.#options.now(), here: performance.now() }
  }
}

/** The log lines about the database of published policies: it answers, or it doesn't. */
export function logChannel(log: Logger, maxAgeMs: number): (state: ChannelState, error: unknown) => void {
  const maxAgeSeconds = maxAgeMs / 1000
  const messages: Readonly<Record<ChannelState, string>> = {
    answers: 'the published policy can be read again',
    lost: "the published policy can't be read; the last good one decides until it is too old (POLICY_MAX_AGE)",
    expired: 'the policy may be out of date, so requests are refused until the published policy can be read',
  }
  return (state, error) => {
    if (state === 'answers') log.warn(messages[state])
    else log.error({ err: error, maxAgeSeconds }, messages[state])
  }
}

const SEQUENCE_FILE = 'policy-sequence'
/** Earlier versions of sallyport wrote no id, and no digest. */
const SEQUENCE_TEXT = /^(?<sequence>\d{1,15})\n(?:(?<database>\S{1,100})\n(?:(?<digest>[0-9a-f]{64})\n)?)?$/

/**
 * Keeps the number of the version in force, and the id of its database, beside the keys of the instance: somebody who
 * writes to the database can't make a restarted instance take an older version, or one of another database.
 */
export class KeptSequence {
  readonly #file: string
  readonly #log: Logger
  /** One number after the other, so that the last one stays. */
  #queue = Promise.resolve()

  constructor(dataDirectory: string, log: Logger) {
    this.#file = join(dataDirectory, SEQUENCE_FILE)
    this.#log = log
  }

  async read(): Promise<KeptVersion> {
    const text = await readFile(this.#file, 'utf8').catch(() => '')
    const { sequence = 0, database, digest } = SEQUENCE_TEXT.exec(text)?.groups ?? {}
    return { sequence: Number(sequence), database, digest }
  }

  /** Never rejects: a full disk must not keep a version from being in force. */
  keep(followed: KeptVersion): Promise<void> {
    this.#queue = this.#queue.then(() => this.#write(followed))
    return this.#queue
  }

  /** Resolves when all numbers are kept that were given before. */
  close(): Promise<void> {
    return this.#queue
  }

  async #write({ sequence, database, digest }: KeptVersion): Promise<void> {
    try {
      const kept = await this.read()
      const isNew = sequence > kept.sequence || (sequence === kept.sequence && digest !== undefined)
      if ((!isNew || digest === kept.digest) && sequence <= kept.sequence && kept.database !== undefined) return
      const lines = [Math.max(sequence, kept.sequence), database, isNew ? digest : kept.digest]
      await replaceFile(this.#file, `${lines.filter((line) => line !== undefined).join('\n')}\n`, 0o600)
    } catch (error) {
      this.#log.warn({ err: error, file: this.#file }, "the number of the policy in force can't be kept")
    }
  }
}
