/** The metrics of the admin port as OpenTelemetry has them: same names, labels and values. */
import { type HrTime, ValueType } from '@opentelemetry/api'
import { hrTime } from '@opentelemetry/core'
import type { Resource } from '@opentelemetry/resources'
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type Histogram,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics'
import type { Exemplars } from '../observe/exemplars.ts'
import { type Metrics, REQUEST_DURATION } from '../observe/metrics.ts'
import type { WithExemplars } from './metric-exporter.ts'

interface MetricValue {
  readonly labels: Readonly<Record<string, string | number | undefined>>
  readonly value: number
  /** Of a histogram: with `_bucket`, `_sum` or `_count`. */
  readonly metricName?: string
}

interface MetricOfRegistry {
  readonly name: string
  readonly help: string
  readonly type: unknown
  readonly values: readonly MetricValue[]
}

/** Counts since the start of the process. Summaries are left out: the registry has none. */
export function metricsOf(
  { registry, exemplars }: Pick<Metrics, 'registry' | 'exemplars'>,
  resource: Resource,
  scope: string,
): MetricProducer {
  const startTime = hrTime(0)
  return {
    collect: async () => {
      const endTime = hrTime()
      const found = (await registry.getMetricsAsJSON()) as unknown as readonly MetricOfRegistry[]
      const metrics = found.flatMap((one) => metricOf(one, { startTime, endTime }, exemplars))
      return { resourceMetrics: { resource, scopeMetrics: [{ scope: { name: scope }, metrics }] }, errors: [] }
    },
  }
}

interface Times {
  readonly startTime: HrTime
  readonly endTime: HrTime
}

function metricOf({ name, help, type, values }: MetricOfRegistry, times: Times, exemplars: Exemplars): MetricData[] {
  const descriptor = { name, description: help, unit: '', valueType: ValueType.DOUBLE }
  const metric = { descriptor, aggregationTemporality: AggregationTemporality.CUMULATIVE }
  const points = () => values.map(({ labels, value }) => ({ ...times, attributes: attributesOf(labels), value }))
  switch (type) {
    case 'counter':
      return [{ ...metric, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints: points() }]
    case 'gauge':
      return [{ ...metric, dataPointType: DataPointType.GAUGE, dataPoints: points() }]
    case 'histogram': {
      const found = histogramPoints(name, values, times)
      const dataPoints = name === REQUEST_DURATION ? found.map((point) => withExemplars(point, exemplars)) : found
      return [{ ...metric, dataPointType: DataPointType.HISTOGRAM, dataPoints }]
    }
    default:
      return []
  }
}

function withExemplars(point: HistogramPoint, exemplars: Exemplars): HistogramPoint & WithExemplars {
  return { ...point, exemplars: exemplars.take(point.attributes) }
}

interface HistogramPoint extends DataPoint<Histogram> {
  readonly attributes: Readonly<Record<string, string>>
}

/** Prometheus counts in each bucket what is in the smaller ones, too. */
function histogramPoints(name: string, values: readonly MetricValue[], times: Times): HistogramPoint[] {
  const byLabels = Map.groupBy(values, ({ labels: { le: _, ...labels } }) => JSON.stringify(labels))
  return [...byLabels.values()].map((some) => {
    const [{ labels: { le: _, ...labels } = {} } = {}] = some
    const buckets = some.filter(({ metricName }) => metricName === `${name}_bucket`)
    const figure = (suffix: string) => some.find(({ metricName }) => metricName === name + suffix)?.value ?? 0
    const value = {
      buckets: {
        boundaries: buckets.map(({ labels: { le } }) => Number(le)).filter((bound) => Number.isFinite(bound)),
        counts: buckets.map(({ value: upTo }, at) => upTo - (buckets[at - 1]?.value ?? 0)),
      },
      sum: figure('_sum'),
      count: figure('_count'),
    }
    return { ...times, attributes: attributesOf(labels), value }
  })
}

function attributesOf(labels: MetricValue['labels']): Record<string, string> {
  const given = Object.entries(labels).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]))
}
