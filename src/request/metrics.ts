/** What the program counts, for whoever scrapes it. */
import type { Registry } from 'prom-client'

interface RequestObservation {
  readonly method: string
  /** The route's path, or `unknown`: never what a client sent, which would make labels without end. */
  readonly route: string
  readonly status: number
  readonly seconds: number
}

/** What the parts tell. */
export interface Counts {
  observeRequest(observation: RequestObservation): void
  /** `time` in milliseconds since the epoch. */
  policyActivated(revision: string, time: number): void
  policyFailed(): void
  /** Asked at every scrape. */
  watchPolicy(isDegraded: () => boolean): void
  decisionLost(): void
  /** Asked at every scrape: lines of the log that were lost since the start. */
  watchLog(linesLost: () => number): void
  limiterState(state: 'ok' | 'degraded'): void
}

export interface Metrics extends Counts {
  /** The text that Prometheus scrapes. */
  text(): Promise<string>
  readonly contentType: string
  /** For parts that count things of their own. */
  registry(): Promise<Registry>
}

/** More than this aren't kept waiting for the library: it is loaded. */
const MOST_WAITING = 1000

/**
 * Prometheus' library is a tenth of what a server loads, and the first answer doesn't need it: it is loaded when the registry
 * is asked for, or much has been counted, and is told then what was counted meanwhile.
 */
export function createMetrics(): Metrics {
  const meanwhile: ((counts: Counts) => void)[] = []
  let counts: Counts | undefined
  let loading: Promise<Registry> | undefined
  const tell = (one: (counts: Counts) => void) => {
    if (counts) one(counts)
    else if (meanwhile.push(one) === MOST_WAITING) void registry()
  }
  const load = async () => {
    const { createPrometheus } = await import('./prometheus.ts')
    const prometheus = createPrometheus()
    counts = prometheus.counts
    for (const one of meanwhile.splice(0)) one(counts)
    return prometheus.registry
  }
  const registry = () => {
    loading ??= load()
    return loading
  }
  return {
    observeRequest: (observation) => tell((to) => to.observeRequest(observation)),
    policyActivated: (revision, time) => tell((to) => to.policyActivated(revision, time)),
    policyFailed: () => tell((to) => to.policyFailed()),
    watchPolicy: (isDegraded) => tell((to) => to.watchPolicy(isDegraded)),
    decisionLost: () => tell((to) => to.decisionLost()),
    watchLog: (linesLost) => tell((to) => to.watchLog(linesLost)),
    limiterState: (state) => tell((to) => to.limiterState(state)),
    text: async () => (await registry()).metrics(),
    contentType: 'text/plain; version=0.0.4; charset=utf-8',
    registry,
  }
}
