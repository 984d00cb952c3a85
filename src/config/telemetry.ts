/**
 * OTEL_*: whether traces and metrics are sent, and how (docs/telemetry.md). OpenTelemetry's exporters read where to send
 * them, and go on without a bad value: here it is refused.
 */
import { ConfigError, fileText, HEADER_PAIR, list, oneOf, pairs, quote, wholeNumber } from './values.ts'

type ReadVariable = (name: string) => string | undefined

export type TelemetryProtocol = 'http/protobuf' | 'http/json'

export interface TraceSettings {
  readonly protocol: TelemetryProtocol
  /** Of the traces that begin here. */
  readonly ratio: number
  /** Whether a trace that began elsewhere is sampled if it was sampled there. */
  readonly isParentBased: boolean
  /** Whether `traceparent` and `tracestate` are read. */
  readonly continues: boolean
  readonly batch: {
    readonly scheduledDelayMillis: number
    readonly exportTimeoutMillis: number
    readonly maxQueueSize: number
    readonly maxExportBatchSize: number
  }
}

export interface MetricSettings {
  readonly protocol: TelemetryProtocol
  readonly exportIntervalMillis: number
  readonly exportTimeoutMillis: number
}

/** Each undefined where it isn't sent. */
export interface TelemetrySettings {
  readonly traces: TraceSettings | undefined
  readonly metrics: MetricSettings | undefined
}

const PROTOCOLS = ['http/protobuf', 'http/json'] as const
const SIGNALS = ['TRACES', 'METRICS'] as const
const LONGEST_MS = 3_600_000

/** Undefined where nothing is sent, so that nothing of OpenTelemetry is loaded. Throws ConfigError. */
export function readTelemetry(env: ReadVariable): TelemetrySettings | undefined {
  if (oneOf('OTEL_SDK_DISABLED', env('OTEL_SDK_DISABLED')?.toLowerCase() ?? 'false', ['true', 'false']) === 'true') {
    return undefined
  }
  for (const scope of ['', 'TRACES_', 'METRICS_']) checkExporter(env, `OTEL_EXPORTER_OTLP_${scope}`)
  // Any text is a name of a service.
  env('OTEL_SERVICE_NAME')
  const attributes = env('OTEL_RESOURCE_ATTRIBUTES')
  // OpenTelemetry would leave out a faulty pair, or all of them.
  if (attributes !== undefined) pairs('OTEL_RESOURCE_ATTRIBUTES', attributes, ATTRIBUTE)
  const found = { traces: readTraces(env), metrics: readMetrics(env) }
  const [traces, metrics] = SIGNALS.map((signal) => isSent(env, signal))
  if (!traces && !metrics) return undefined
  return Object.freeze({ traces: traces ? found.traces : undefined, metrics: metrics ? found.metrics : undefined })
}

/** Somebody has named a collector, or the exporter that sends to the one of this machine. */
function isSent(env: ReadVariable, signal: (typeof SIGNALS)[number]): boolean {
  const name = `OTEL_${signal}_EXPORTER`
  const exporter = env(name)
  const endpoint = [env('OTEL_EXPORTER_OTLP_ENDPOINT'), env(`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`)]
  if (exporter !== undefined) return oneOf(name, exporter, ['otlp', 'none']) === 'otlp'
  return endpoint.some((url) => url !== undefined)
}

const RATIOS: Readonly<Record<string, number>> = { always_on: 1, always_off: 0 }
const SAMPLERS = ['always_on', 'always_off', 'traceidratio'].flatMap((name) => [name, `parentbased_${name}`])

function readTraces(env: ReadVariable): TraceSettings {
  const sampler = oneOf('OTEL_TRACES_SAMPLER', env('OTEL_TRACES_SAMPLER') ?? 'parentbased_always_on', SAMPLERS)
  const ratio = ratioOf('OTEL_TRACES_SAMPLER_ARG', env('OTEL_TRACES_SAMPLER_ARG') ?? '1')
  const propagators = list(env('OTEL_PROPAGATORS') ?? 'tracecontext').map((one) =>
    oneOf('OTEL_PROPAGATORS', one, ['tracecontext', 'baggage', 'none']),
  )
  const number = (name: string, value: string, max: number) => wholeNumber(name, env(name) ?? value, { min: 1, max })
  const maxQueueSize = number('OTEL_BSP_MAX_QUEUE_SIZE', '2048', 100_000)
  return Object.freeze({
    protocol: protocolOf(env, 'TRACES'),
    ratio: RATIOS[sampler.replace('parentbased_', '')] ?? ratio,
    isParentBased: sampler.startsWith('parentbased_'),
    continues: propagators.includes('tracecontext'),
    batch: Object.freeze({
      scheduledDelayMillis: number('OTEL_BSP_SCHEDULE_DELAY', '5000', LONGEST_MS),
      exportTimeoutMillis: number('OTEL_BSP_EXPORT_TIMEOUT', '30000', LONGEST_MS),
      maxQueueSize,
      maxExportBatchSize: Math.min(maxQueueSize, number('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', '512', 100_000)),
    }),
  })
}

function readMetrics(env: ReadVariable): MetricSettings {
  const number = (name: string, value: string) => wholeNumber(name, env(name) ?? value, { min: 1, max: LONGEST_MS })
  const temporality = 'OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE'
  oneOf(temporality, env(temporality)?.toLowerCase() ?? 'cumulative', ['cumulative'])
  const exportIntervalMillis = number('OTEL_METRIC_EXPORT_INTERVAL', '60000')
  const exportTimeoutMillis = Math.min(exportIntervalMillis, number('OTEL_METRIC_EXPORT_TIMEOUT', '30000'))
  return Object.freeze({ protocol: protocolOf(env, 'METRICS'), exportIntervalMillis, exportTimeoutMillis })
}

function protocolOf(env: ReadVariable, signal: string): TelemetryProtocol {
  const own = env(`OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`) ?? env('OTEL_EXPORTER_OTLP_PROTOCOL') ?? PROTOCOLS[0]
  return own === 'http/json' ? own : 'http/protobuf'
}

function ratioOf(name: string, value: string): number {
  const ratio = /^(?:0|1|[01]?\.\d+)$/.test(value) ? Number(value) : Number.NaN
  if (ratio >= 0 && ratio <= 1) return ratio
  throw new ConfigError(`${name} is ${quote(value)}; set it to a share of the traces from 0 to 1, like 0.01`)
}

/** `prefix`: that of all signals, or of one. */
function checkExporter(env: ReadVariable, prefix: string): void {
  const check = (name: string, refuse: (name: string, value: string) => unknown) => {
    const value = env(prefix + name)
    if (value !== undefined) refuse(prefix + name, value)
  }
  check('ENDPOINT', refuseUrl)
  check('PROTOCOL', (name, value) => oneOf(name, value, PROTOCOLS))
  check('HEADERS', (name, value) => pairs(name, value, HEADER_PAIR))
  check('TIMEOUT', (name, value) => wholeNumber(name, value, { min: 1, max: LONGEST_MS }))
  check('COMPRESSION', (name, value) => oneOf(name, value, ['gzip', 'none']))
  for (const file of ['CERTIFICATE', 'CLIENT_CERTIFICATE', 'CLIENT_KEY']) check(file, fileText)
}

/** The path of a signal is added to the URL of all, so that one has no query. */
function refuseUrl(name: string, value: string): void {
  const rest = name === 'OTEL_EXPORTER_OTLP_ENDPOINT' ? /^https?:\/\/[^\s?#]+$/ : /^https?:\/\/[^\s#]+$/
  if (rest.test(value) && URL.canParse(value)) return
  throw new ConfigError(`${name} is ${quote(value)}; set it to a URL like http://localhost:4318`)
}

const ATTRIBUTE = /^[^=]{1,255}=[^=]{1,255}$/
