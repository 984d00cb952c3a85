/**
 * Starts OpenTelemetry as OTEL_* say (src/config/telemetry.ts): nothing else loads it, and only where it is configured.
 * A collector that doesn't answer costs spans and metrics, and never an answer: what waits is bounded, and the log says
 * once that it fails, and once that it works again.
 */
import { DiagLogLevel, diag } from '@opentelemetry/api'
import { type ExportResult, ExportResultCode } from '@opentelemetry/core'
import {
  defaultResource,
  detectResources,
  type Resource,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from '@opentelemetry/resources'
import { PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { AlwaysOnSampler, BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import type { Logger } from 'pino'
import type { Config } from '../../config/config.ts'
import type { MetricSettings, TelemetryProtocol, TelemetrySettings, TraceSettings } from '../../config/telemetry.ts'
import { after } from '../http/listen.ts'
import type { Metrics } from '../observe/metrics.ts'
import { remoteReason } from '../observe/remote-reason.ts'
import { createMetricExporter } from './metric-exporter.ts'
import { metricsOf } from './metrics.ts'
import { createSampler } from './sampler.ts'
import { Tracing } from './tracing.ts'

export interface Telemetry {
  /** Undefined where no traces are sent. */
  readonly tracing: Tracing | undefined
  /** Sends what waits, for two seconds at most. */
  close(): Promise<void>
}

interface TelemetryParts {
  readonly config: Config
  readonly settings: TelemetrySettings
  readonly log: Logger
  readonly metrics: Pick<Metrics, 'registry' | 'exemplars'>
  readonly version: string
  /** One of several processes of the instance. */
  readonly isWorker: boolean
}

/** With the time for requests in flight, less than the primary of workers waits, or `docker stop --stop-timeout 20`. */
const FLUSH_MS = 2000
const SCOPE = 'sallyport'

export async function startTelemetry(parts: TelemetryParts): Promise<Telemetry> {
  const { settings, log } = parts
  let isToldOfParts = false
  // No result says that a collector took only a part.
  const warn = (text: string) => {
    if (isToldOfParts || !text.startsWith('Received Partial Success')) return
    isToldOfParts = true
    log.warn('the collector refuses a part of the traces or metrics; its own log says why')
  }
  const nothing = () => undefined
  const quiet = { error: nothing, warn, info: nothing, debug: nothing, verbose: nothing }
  diag.setLogger(quiet, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
  const resource = resourceOf(parts)
  const traces = settings.traces && (await startTraces(settings.traces, resource, parts))
  const metrics = settings.metrics && startMetrics(settings.metrics, resource, parts)
  const shutdown = () => Promise.allSettled([traces?.provider.shutdown(), metrics?.shutdown()])
  return {
    tracing: traces?.tracing,
    close: async () => {
      await Promise.race([shutdown(), after(FLUSH_MS)])
    },
  }
}

/** What OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME say wins; each worker stays an instance of its own. */
function resourceOf({ config, version, isWorker }: TelemetryParts): Resource {
  const id = 'service.instance.id'
  const own = { 'service.name': 'sallyport', 'service.version': version, [id]: config.instance }
  const given = detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] })
  const named = defaultResource().merge(resourceFromAttributes(own)).merge(given)
  return isWorker ? named.merge(resourceFromAttributes({ [id]: `${named.attributes[id]}/${process.pid}` })) : named
}

async function startTraces(settings: TraceSettings, resource: Resource, { config, log, version }: TelemetryParts) {
  const { OTLPTraceExporter } = await traceExporter(settings.protocol)
  const exporter = reporting(new OTLPTraceExporter(), { log, what: 'traces', counts: (spans) => spans.length })
  const provider = new TracerProvider({
    resource,
    sampler: new AlwaysOnSampler(),
    spanProcessors: [new BatchSpanProcessor({ exporter, ...settings.batch })],
  })
  const { protocol, hostname } = new URL(config.publicUrl ?? `http://${bracketed(config.host)}`)
  const tracing = new Tracing({
    tracer: provider.getTracer(SCOPE, version),
    isSampled: createSampler(settings),
    continues: settings.continues,
    trustProxy: config.trustProxy,
    server: { 'url.scheme': protocol.slice(0, -1), 'server.address': hostname },
  })
  return { provider, tracing }
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

function startMetrics(settings: MetricSettings, resource: Resource, { log, metrics }: TelemetryParts) {
  const { exportIntervalMillis, exportTimeoutMillis } = settings
  const reader = new PeriodicExportingMetricReader({
    exporter: reporting(createMetricExporter(settings.protocol), { log, what: 'metrics', counts: () => 1 }),
    exportIntervalMillis,
    exportTimeoutMillis,
  })
  reader.setMetricProducer(metricsOf(metrics, resource, SCOPE))
  return reader
}

function traceExporter(protocol: TelemetryProtocol) {
  return protocol === 'http/json'
    ? import('@opentelemetry/exporter-trace-otlp-http')
    : import('@opentelemetry/exporter-trace-otlp-proto')
}

interface Exporter<Sent> {
  export(sent: Sent, done: (result: ExportResult) => void): void
}

interface SignalEvents<Sent> {
  readonly log: Pick<Logger, 'warn'>
  readonly what: 'traces' | 'metrics'
  readonly counts: (sent: Sent) => number
}

/** The same exporter, which logs when it begins to fail and when it works again. The SDK hears of no failure. */
function reporting<Sent, E extends Exporter<Sent>>(
  exporter: E & Exporter<Sent>,
  { log, what, counts }: SignalEvents<Sent>,
): E {
  const send = exporter.export.bind(exporter)
  let lost = 0
  const failed = (sent: Sent, error: unknown) => {
    const isFirst = lost === 0
    lost += counts(sent)
    if (isFirst) log.warn(`the collector doesn't take ${what} (${remoteReason(error)}): they are lost until it does`)
  }
  exporter.export = (sent, done) => {
    try {
      send(sent, ({ code, error }) => {
        if (code !== ExportResultCode.SUCCESS) failed(sent, error)
        else if (lost > 0) {
          log.warn({ lost }, `the collector takes ${what} again`)
          lost = 0
        }
        done({ code: ExportResultCode.SUCCESS })
      })
    } catch (error) {
      failed(sent, error)
      done({ code: ExportResultCode.SUCCESS })
    }
  }
  return exporter
}
