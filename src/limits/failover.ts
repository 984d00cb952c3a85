/**
 * Keeps limiting when the shared counts are out of reach: this process then counts its share by itself, until they
 * answer again. In a window that has such a change in it, both may have admitted what they allow.
 */
import { answerWithin } from './deadline.ts'
import type { Admission, Limiter, Quota } from './limiter.ts'

/** A longer wait for the shared counts is a loss. */
const ANSWER_MS = 250

const PROBE_EVERY_MS = 500

/** A probe counts as a request does: a Redis that is full, loading or read-only doesn't pass. */
const PROBE: readonly Quota[] = [{ name: '#probe', key: '#probe', allow: 1_000_000_000, windowMs: 1000 }]

export type LimiterEvent = { readonly kind: 'lost'; readonly cause: unknown } | { readonly kind: 'regained' }

/** Counts held elsewhere, that may fail. */
export interface SharedCounts {
  /** Makes a new connection in place of the last. Rejects within a bounded time when it can't. */
  connect(): Promise<void>
  admit(quotas: readonly Quota[]): Promise<Admission>
  /** The listener hears of a connection that ends by itself. */
  onLost(listener: (cause: unknown) => void): void
  /** Calls that wait reject. */
  disconnect(): void
}

export interface FailoverOptions {
  /** How many instances share the counts: without them, each allows this part of a quota, rounded down, and at least 1. */
  readonly instances: number
  /** Hears of every change, and of a start without the shared counts. Must not throw. */
  readonly observe: (event: LimiterEvent) => void
}

/** Resolves when the shared counts answer, or are known not to: then it starts on the local ones. Never rejects. */
export async function createFailoverLimiter(
  shared: SharedCounts,
  local: Limiter,
  options: FailoverOptions,
): Promise<Limiter> {
  const limiter = new FailoverLimiter(shared, local, options)
  await limiter.start()
  return limiter
}

type Phase = 'starting' | 'shared' | 'local' | 'closed'

class FailoverLimiter implements Limiter {
  private readonly shared: SharedCounts
  private readonly local: Limiter
  private readonly options: FailoverOptions
  private phase: Phase = 'starting'
  private nextProbe: NodeJS.Timeout | undefined

  constructor(shared: SharedCounts, local: Limiter, options: FailoverOptions) {
    this.shared = shared
    this.local = local
    this.options = options
    shared.onLost((cause) => this.lose(cause))
  }

  start(): Promise<void> {
    return this.probe()
  }

  async admit(quotas: readonly Quota[]): Promise<Admission> {
    if (this.phase !== 'shared') return this.admitLocally(quotas)
    try {
      return await answerWithin(ANSWER_MS, this.shared.admit(quotas))
    } catch (cause) {
      this.lose(cause)
      return this.admitLocally(quotas)
    }
  }

  state(): 'ok' | 'degraded' {
    return this.phase === 'shared' ? 'ok' : 'degraded'
  }

  async close(): Promise<void> {
    this.phase = 'closed'
    clearTimeout(this.nextProbe)
    this.shared.disconnect()
    await this.local.close()
  }

  private admitLocally(quotas: readonly Quota[]): Admission | Promise<Admission> {
    return this.local.admit(sharesOf(quotas, this.options.instances))
  }

  /** Ends the connection as well, so that calls that still wait on it end before there is another one to be lost. */
  private lose(cause: unknown): void {
    if (this.phase !== 'shared') return
    this.shared.disconnect()
    this.goLocal(cause)
    this.probeLater()
  }

  private goLocal(cause: unknown): void {
    this.phase = 'local'
    this.options.observe({ kind: 'lost', cause })
  }

  private probeLater(): void {
    this.nextProbe = setTimeout(() => void this.probe(), PROBE_EVERY_MS).unref()
  }

  private async probe(): Promise<void> {
    try {
      await this.shared.connect()
      await answerWithin(ANSWER_MS, this.shared.admit(PROBE))
    } catch (cause) {
      if (this.phase === 'starting') this.goLocal(cause)
      if (this.phase === 'local') this.probeLater()
      return
    }
    this.goShared()
  }

  private goShared(): void {
    const { phase } = this
    if (phase === 'closed') return
    this.phase = 'shared'
    if (phase === 'local') this.options.observe({ kind: 'regained' })
  }
}

/** The share of each of several processes that don't know one another: at least 1. */
export function sharesOf(quotas: readonly Quota[], among: number): readonly Quota[] {
  return quotas.map((quota) => ({ ...quota, allow: Math.max(1, Math.floor(quota.allow / among)) }))
}
