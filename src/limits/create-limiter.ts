/** Creates the limiter that the configuration asks for. */
import type { Admission, Limiter, Quota } from './limiter.ts'
import { createMemoryLimiter } from './memory.ts'
import { readRedisUrl } from './redis-url.ts'

interface LimiterOptions extends FailoverOptions {
  /**
   * The Redis in which instances share their counts (redis.ts says which Redis is supported); without it each process
   * counts for itself.
   */
  readonly redisUrl?: string | undefined
  /** The number of processes of this instance: without Redis each allows its part of a quota. */
  readonly workers?: number
}

type Quotas = readonly Quota[]

/** Resolves within two seconds, whether Redis answers or not. Never rejects because Redis doesn't answer. */
export async function createLimiter({ redisUrl, workers = 1, ...options }: LimiterOptions): Promise<Limiter> {
  const memory = createMemoryLimiter()
  const local =
    workers === 1 ? memory : { ...memory, admit: (quotas: Quotas) => memory.admit(sharesOf(quotas, workers)) }
  if (redisUrl === undefined) return local
  return createFailoverLimiter(await sharedCounts(redisUrl), local, options)
}

/** The Redis client takes time to load; a start without Redis must not wait for it. */
async function sharedCounts(redisUrl: string): Promise<SharedCounts> {
  const place = readRedisUrl(redisUrl)
  if (place.kind === 'cluster') return (await import('./redis-cluster.ts')).createClusterLimiter(place)
  return (await import('./redis.ts')).createRedisLimiter(redisUrl)
}

// Keeps limiting when the shared counts are out of reach: this process then counts its share by itself until they
// answer again. In a window with such a change, both counts may admit their full quota.

const PROBE_EVERY_MS = 500

/** A probe counts as a request does: a Redis that is full, loading or read-only doesn't pass. */
const PROBE: readonly Quota[] = [{ name: '#probe', key: '#probe', allow: 1_000_000_000, windowMs: 1000 }]

export type LimiterEvent = { readonly kind: 'lost'; readonly cause: unknown } | { readonly kind: 'regained' }

/** Counts that are kept elsewhere and may fail. */
export interface SharedCounts {
  /** Replaces the connection by a new one. Rejects within a bounded time if that fails. */
  connect(): Promise<void>
  /** Rejects within a bounded time if there is no answer. */
  admit(quotas: readonly Quota[]): Promise<Admission>
  /** Calls the listener when a connection ends by itself. */
  onLost(listener: (cause: unknown) => void): void
  /** Waiting calls reject. */
  disconnect(): void
}

interface FailoverOptions {
  /**
   * The number of instances that share the counts: without shared counts, each allows an equal part of a quota, rounded
   * down, and at least 1.
   */
  readonly instances: number
  /** Called on every change, and on a start without the shared counts. Must not throw. */
  readonly observe: (event: LimiterEvent) => void
}

/**
 * Resolves when the shared counts answer, or when they can't be reached: then it starts with the local counts. Never
 * rejects.
 */
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

  admit(quotas: readonly Quota[]): Admission | Promise<Admission> {
    if (this.phase !== 'shared') return this.admitLocally(quotas)
    return this.shared.admit(quotas).catch((cause) => {
      this.lose(cause)
      return this.admitLocally(quotas)
    })
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

  /** Also ends the connection, so that calls waiting on it end before a new connection exists. */
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
      await this.shared.admit(PROBE)
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

/** The part of a quota for each of several processes that don't share counts: at least 1. */
function sharesOf(quotas: readonly Quota[], among: number): readonly Quota[] {
  return quotas.map((quota) => ({ ...quota, allow: Math.max(1, Math.floor(quota.allow / among)) }))
}
