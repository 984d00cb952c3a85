/** The program's metrics, for Prometheus. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { Exemplars, type TracedSpan } from './exemplars.ts'

interface RequestObservation {
  readonly method: string
  /** The route's path, or `unknown`: never what a client sent, which would make labels without end. */
  readonly route: string
  readonly status: number
  readonly seconds: number
  /** If its trace is sampled. */
  readonly span?: TracedSpan | undefined
}

/** The values that the parts report. */
interface MetricReports {
  observeRequest(observation: RequestObservation): void
  /** `time` in milliseconds since the epoch. */
  policyActivated(revision: string, time: number): void
  policyFailed(): void
  /** Asked at every scrape. */
  watchPolicy(isDegraded: () => boolean): void
  watchProposals(overdue: () => number): void
  decisionLost(): void
  /** Asked at every scrape: lines of the log that were lost since the start. */
  watchLog(linesLost: () => number): void
  limiterState(state: 'ok' | 'degraded'): void
}

export interface Metrics extends MetricReports {
  /** The text that Prometheus scrapes. */
  text(): Promise<string>
  readonly contentType: string
  /** For parts that count things of their own. */
  readonly registry: Registry
  /** Of the durations of requests. */
  readonly exemplars: Exemplars
}

export const REQUEST_DURATION = 'sallyport_request_duration_seconds'

/** Seconds. */
const DURATIONS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]

export function createMetrics(): Metrics {
  const registers = [new Registry()] as const
  const [registry] = registers
  collectDefaultMetrics({ register: registry, prefix: 'sallyport_' })
  const exemplars = new Exemplars(DURATIONS)
  const duration = new Histogram({
    name: REQUEST_DURATION,
    help: 'Time from the request to the end of its handling',
    labelNames: ['method', 'route', 'status'],
    buckets: DURATIONS,
    registers: [...registers],
  })
  const revision = new Gauge({
    name: 'sallyport_policy_info',
    aggregator: 'max',
    help: 'The policy revision in force, as a label',
    labelNames: ['revision'],
    registers: [...registers],
  })
  const activated = new Gauge({
    name: 'sallyport_policy_activated_timestamp_seconds',
    aggregator: 'max',
    help: 'The time when the policy in force took over',
    registers: [...registers],
  })
  const failures = new Counter({
    name: 'sallyport_policy_load_failures_total',
    help: 'Policy files that were refused; the previous policy stayed in force',
    registers: [...registers],
  })
  const lost = new Counter({
    name: 'sallyport_decisions_lost_total',
    help: 'Decision records of reads and refusals that could not be written',
    registers: [...registers],
  })
  const degraded = new Gauge({
    name: 'sallyport_limiter_degraded',
    aggregator: 'max',
    help: '1 while Redis is lost and each instance counts its share for itself',
    registers: [...registers],
  })
  return {
    observeRequest: ({ method, route, status, seconds, span }) => {
      const labels = { method, route, status: String(status) }
      duration.observe(labels, seconds)
      if (span) exemplars.note(labels, seconds, span)
    },
    policyActivated: (name, time) => {
      revision.reset()
      revision.set({ revision: name }, 1)
      activated.set(time / 1000)
    },
    policyFailed: () => failures.inc(),
    watchPolicy: (isDegraded) => watchPolicy(registry, isDegraded),
    watchProposals: (overdue) => watchProposals(registry, overdue),
    decisionLost: () => lost.inc(),
    watchLog: (linesLost) => watchLog(registry, linesLost),
    limiterState: (state) => degraded.set(state === 'degraded' ? 1 : 0),
    text: () => registry.metrics(),
    contentType: registry.contentType,
    registry,
    exemplars,
  }
}

function watchLog(registry: Registry, linesLost: () => number): void {
  new Counter({
    name: 'sallyport_log_lines_lost_total',
    help: 'Lines of the log (standard error) that could not be written',
    registers: [registry],
    collect() {
      this.reset()
      this.inc(linesLost())
    },
  })
}

function watchPolicy(registry: Registry, isDegraded: () => boolean): void {
  new Gauge({
    name: 'sallyport_policy_degraded',
    aggregator: 'max',
    help: '1 while policy files are refused and the previous policy stays in force',
    registers: [registry],
    collect() {
      this.set(isDegraded() ? 1 : 0)
    },
  })
}

function watchProposals(registry: Registry, overdue: () => number): void {
  new Gauge({
    name: 'sallyport_policy_proposals_overdue',
    aggregator: 'max',
    help: 'Proposals whose time has come, but that are not in force, because something is missing',
    registers: [registry],
    collect() {
      this.set(overdue())
    },
  })
}
