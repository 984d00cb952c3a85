/** A duration that a collector gets leads to a trace that it gets: in both forms of OTLP. */
import { expect } from 'chai'
import protobuf from 'protobufjs'
import type { TestServer } from '../server.ts'
import { until } from '../until.ts'
import { Collector, type SentBatch, startTracedServer } from './collector.ts'

const DURATION = 'sallyport_request_duration_seconds'

interface Point {
  readonly count: number
  readonly bucketCounts: readonly number[]
  readonly explicitBounds: readonly number[]
  readonly exemplars: readonly {
    readonly traceId: string
    readonly spanId: string
    readonly asDouble: number
    readonly timeUnixNano: string
  }[]
}

interface Sent {
  readonly names: readonly string[]
  readonly points: readonly Point[]
}

/** The parts of metrics.proto (opentelemetry-proto 1.x) that these tests read. */
const MESSAGES = protobuf.parse(`
  syntax = "proto3";
  message Request { repeated ResourceMetrics resource_metrics = 1; }
  message ResourceMetrics { repeated ScopeMetrics scope_metrics = 2; }
  message ScopeMetrics { repeated Metric metrics = 2; }
  message Metric { string name = 1; Histogram histogram = 9; }
  message Histogram { repeated Point data_points = 1; int32 aggregation_temporality = 2; }
  message Point {
    fixed64 count = 4;
    repeated fixed64 bucket_counts = 6;
    repeated double explicit_bounds = 7;
    repeated Exemplar exemplars = 8;
  }
  message Exemplar { fixed64 time_unix_nano = 2; double as_double = 3; bytes span_id = 4; bytes trace_id = 5; }
`).root

// biome-ignore lint/suspicious/noExplicitAny: OTLP, which these tests take apart
type Part = any

function readProtobuf({ body }: SentBatch): Sent {
  const type = MESSAGES.lookupType('Request')
  const hex = (text: string) => Buffer.from(text, 'base64').toString('hex')
  const request: Part = type.toObject(type.decode(body), { longs: String, bytes: String, defaults: true })
  const { names, points } = read(request)
  const inHex = (one: Part) => ({ ...one, traceId: hex(one.traceId), spanId: hex(one.spanId) })
  const numbers = (one: Part) => ({ count: Number(one.count), bucketCounts: one.bucketCounts.map(Number) })
  return { names, points: points.map((one) => ({ ...one, ...numbers(one), exemplars: one.exemplars.map(inHex) })) }
}

function readJson({ body }: SentBatch): Sent {
  const { names, points } = read(JSON.parse(body.toString()))
  return { names, points: points.map((one) => ({ ...one, exemplars: one.exemplars ?? [] })) }
}

function read(request: Part): Sent {
  const metrics = request.resourceMetrics.flatMap((of: Part) => of.scopeMetrics.flatMap((some: Part) => some.metrics))
  const durations = metrics.find(({ name }: Part) => name === DURATION)
  return { names: metrics.map(({ name }: Part) => name), points: durations?.histogram.dataPoints ?? [] }
}

for (const [protocol, reader] of [
  ['http/json', readJson],
  ['http/protobuf', readProtobuf],
] as const) {
  describe(`the durations that are sent by ${protocol}`, () => {
    let collector: Collector
    let server: TestServer
    const start = async (env: Readonly<Record<string, string>>) => {
      collector = new Collector()
      await collector.listen()
      const forMetrics = { OTEL_METRICS_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: protocol }
      server = await startTracedServer(collector.url, { env: { ...forMetrics, ...env } })
    }
    afterEach(async () => {
      await server.stop()
      await collector.close()
    })
    const sent = () => collector.batches.filter(({ path }) => path === '/v1/metrics').map(reader)

    it('have the trace of a request in each bucket, once', async () => {
      await start({})
      const token = await server.token('ann', 'member')
      for (let i = 0; i < 3; i++) await server.ask('GET', '/api/v1/notes', { token })
      await server.ask('GET', '/nowhere', { token })
      const points = () => sent().flatMap((one) => one.points)
      const found = () => points().flatMap(({ exemplars }) => exemplars)
      const isSent = (traceId: string) => collector.spans.some((span) => span.traceId === traceId)
      await until(() => found().length >= 2 && found().every(({ traceId }) => isSent(traceId)))
      const roots = new Map(collector.spans.map(({ traceId, spanId }) => [traceId + spanId, true]))
      for (const point of points()) {
        for (const { traceId, spanId, asDouble, timeUnixNano } of point.exemplars) {
          expect(roots.has(traceId + spanId), 'a span that was sent').to.equal(true)
          const bucket = point.explicitBounds.findIndex((bound) => asDouble <= bound)
          expect(point.bucketCounts.at(bucket), `a request of ${asDouble} s`).to.be.above(0)
          expect(Math.abs(Number(BigInt(timeUnixNano) / 1_000_000n) - Date.now())).to.be.below(60_000)
        }
      }
      const before = sent().length
      await until(() => sent().length > before + 1)
      const ids = found().map(({ traceId }) => traceId)
      expect(new Set(ids).size, 'each exemplar is sent once').to.equal(ids.length)
      const last = sent().at(-1)
      expect(last?.points.reduce((sum, { count }) => sum + count, 0)).to.equal(4)
      expect(new Set(last?.names).size, 'each metric once').to.equal(last?.names.length)
      expect(last?.names).to.include('sallyport_decisions_lost_total')
    })

    it('have no trace where none is sampled', async () => {
      await start({ OTEL_TRACES_SAMPLER: 'always_off' })
      const token = await server.token('ann', 'member')
      await server.ask('GET', '/api/v1/notes', { token })
      await until(() => sent().some(({ points }) => points.some(({ count }) => count > 0)))
      expect(sent().flatMap(({ points }) => points.flatMap(({ exemplars }) => exemplars))).to.deep.equal([])
    })
  })
}
