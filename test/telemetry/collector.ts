/** An OTLP/HTTP endpoint of a test: takes what a server sends, or refuses it, or never answers. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startTestServer, type TestServer, type TestServerOptions } from '../server.ts'
import { until } from '../until.ts'

type Behaviour = 'takes' | 'refuses' | 'says nothing' | 'takes a part'

/** A span, with its attributes by name. */
export interface SentSpan {
  readonly name: string
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly traceState: string | undefined
  readonly attributes: Readonly<Record<string, unknown>>
  readonly resource: Readonly<Record<string, unknown>>
  readonly isError: boolean
}

export interface SentMetric {
  readonly name: string
  readonly kind: 'sum' | 'gauge' | 'histogram'
  readonly points: readonly Readonly<Record<string, unknown>>[]
  readonly resource: Readonly<Record<string, unknown>>
}

export interface SentBatch {
  readonly path: string
  readonly type: string | undefined
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: Buffer
}

export class Collector {
  readonly batches: SentBatch[] = []
  behaviour: Behaviour = 'takes'
  readonly #waiting = new Set<ServerResponse>()
  readonly #server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part)
    const { url: path = '', headers } = request
    this.batches.push({ path, type: headers['content-type'], headers, body: Buffer.concat(parts) })
    if (this.behaviour === 'says nothing') this.#waiting.add(response)
    else if (this.behaviour === 'refuses') response.writeHead(400).end('secret words of a collector')
    else {
      const answer = this.behaviour === 'takes' ? {} : { partialSuccess: { rejectedSpans: '1', errorMessage: 'no' } }
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answer))
    }
  })

  async listen(port = 0): Promise<void> {
    this.#server.listen(port, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    for (const one of this.#waiting) one.destroy()
    if (!this.#server.listening) return
    this.#server.close()
    this.#server.closeAllConnections()
    await once(this.#server, 'close')
  }

  /** Everything that was sent, as text. */
  get text(): string {
    return this.batches.map(({ body }) => body.toString()).join('\n')
  }

  get spans(): readonly SentSpan[] {
    return this.#sent('/v1/traces').flatMap(({ resourceSpans }) =>
      resourceSpans.flatMap(({ resource, scopeSpans }: Part) =>
        scopeSpans.flatMap(({ spans }: Part) =>
          spans.map(({ attributes, status, ...span }: Part) => ({
            ...span,
            attributes: valuesOf(attributes),
            resource: valuesOf(resource.attributes),
            isError: status.code === 2,
          })),
        ),
      ),
    )
  }

  get metrics(): readonly SentMetric[] {
    return this.#sent('/v1/metrics').flatMap(({ resourceMetrics }) =>
      resourceMetrics.flatMap(({ resource, scopeMetrics }: Part) =>
        scopeMetrics.flatMap(({ metrics }: Part) =>
          metrics.map((metric: Part) => {
            const kind = (['sum', 'gauge', 'histogram'] as const).find((one) => one in metric) ?? 'sum'
            const points = metric[kind].dataPoints.map(({ attributes, ...point }: Part) => ({
              ...point,
              attributes: valuesOf(attributes),
            }))
            return { name: metric.name, kind, points, resource: valuesOf(resource.attributes) }
          }),
        ),
      ),
    )
  }

  /** The spans of the first request whose root fits, the root first, once all have come. */
  async trace(fits: (root: SentSpan) => boolean): Promise<readonly SentSpan[]> {
    const isRoot = (span: SentSpan) => span.kind === SERVER && fits(span)
    await until(() => this.spans.some(isRoot))
    const traceId = this.spans.find(isRoot)?.traceId
    const spans = this.spans.filter((span) => span.traceId === traceId)
    return [...spans.filter(isRoot), ...spans.filter((span) => !isRoot(span))]
  }

  #sent(path: string): readonly Part[] {
    return this.batches.filter((batch) => batch.path === path).map(({ body }) => JSON.parse(body.toString()))
  }
}

/** A SpanKind of OTLP. */
export const SERVER = 2
export const CLIENT = 3

// biome-ignore lint/suspicious/noExplicitAny: OTLP as JSON, which these tests take apart
type Part = any

function valuesOf(attributes: readonly Part[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, jsonOf(value)]))
}

function jsonOf(value: Part): unknown {
  if (value.arrayValue) return value.arrayValue.values.map(jsonOf)
  return (
    value.stringValue ?? value.boolValue ?? (value.intValue === undefined ? value.doubleValue : Number(value.intValue))
  )
}

/** Sends soon what ends. */
export const QUICK = {
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  OTEL_BSP_SCHEDULE_DELAY: '20',
  OTEL_METRIC_EXPORT_INTERVAL: '50',
}

/** A server that sends to the collector, which needn't be there. The exporters read the environment of the process. */
export async function startTracedServer(
  url: string,
  { env = {}, ...options }: TestServerOptions = {},
): Promise<TestServer> {
  const settings = { ...QUICK, OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_METRICS_EXPORTER: 'none', ...env }
  const before = { ...process.env }
  Object.assign(process.env, settings)
  try {
    return await startTestServer({ ...options, env: settings })
  } finally {
    for (const name of Object.keys(settings)) {
      if (before[name] === undefined) delete process.env[name]
      else process.env[name] = before[name]
    }
  }
}
