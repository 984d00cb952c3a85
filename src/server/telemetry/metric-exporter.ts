/**
 * Sends metrics by OTLP over HTTP, as OTEL_EXPORTER_OTLP_* say. The SDK has no exemplars, so they are added to what it
 * wrote (https://github.com/open-telemetry/opentelemetry-proto, metrics.proto): a histogram's points stand in one order.
 */
import { OTLPExporterBase } from '@opentelemetry/otlp-exporter-base'
import { convertLegacyHttpOptions, createOtlpHttpExportDelegate } from '@opentelemetry/otlp-exporter-base/node-http'
import {
  JsonMetricsSerializer,
  MetricsExporterMetricsHelper,
  ProtobufMetricsSerializer,
} from '@opentelemetry/otlp-transformer'
import { DataPointType, type PushMetricExporter, type ResourceMetrics } from '@opentelemetry/sdk-metrics'
import type { TelemetryProtocol } from '../../config/telemetry.ts'
import type { Exemplar } from '../observe/exemplars.ts'

/** A point of a histogram that has exemplars. */
export interface WithExemplars {
  readonly exemplars: readonly Exemplar[]
}

export function createMetricExporter(protocol: TelemetryProtocol): PushMetricExporter {
  const [type, serializer] = protocol === 'http/json' ? JSON_FORM : PROTOBUF_FORM
  const options = convertLegacyHttpOptions({}, 'METRICS', 'v1/metrics', { 'Content-Type': type })
  const component = 'otlp_http_metric_exporter'
  return new OTLPExporterBase(
    createOtlpHttpExportDelegate(options, serializer, component, MetricsExporterMetricsHelper, undefined),
  )
}

function exemplarsOf({ scopeMetrics }: ResourceMetrics): readonly (readonly Exemplar[])[] {
  return scopeMetrics.flatMap(({ metrics }) =>
    metrics.flatMap(({ dataPointType, dataPoints }) =>
      dataPointType === DataPointType.HISTOGRAM
        ? dataPoints.map((point) => (point as Partial<WithExemplars>).exemplars ?? [])
        : [],
    ),
  )
}

// ---- JSON.

interface JsonMetrics {
  readonly resourceMetrics: readonly {
    readonly scopeMetrics: readonly {
      readonly metrics: readonly { readonly histogram?: { readonly dataPoints: object[] } }[]
    }[]
  }[]
}

const JSON_FORM = [
  'application/json',
  {
    ...JsonMetricsSerializer,
    serializeRequest(sent: ResourceMetrics) {
      const written: JsonMetrics = JSON.parse(
        Buffer.from(JsonMetricsSerializer.serializeRequest(sent) ?? '').toString(),
      )
      const points = written.resourceMetrics.flatMap(({ scopeMetrics }) =>
        scopeMetrics.flatMap(({ metrics }) => metrics.flatMap(({ histogram }) => histogram?.dataPoints ?? [])),
      )
      for (const [at, exemplars] of exemplarsOf(sent).entries()) {
        if (exemplars.length > 0) Object.assign(points[at] ?? {}, { exemplars: exemplars.map(asJson) })
      }
      return Buffer.from(JSON.stringify(written))
    },
  },
] as const

function asJson({ traceId, spanId, value, time }: Exemplar) {
  return { traceId, spanId, asDouble: value, timeUnixNano: nanoseconds(time).toString() }
}

function nanoseconds(time: number): bigint {
  return BigInt(Math.round(time)) * 1_000_000n
}

// ---- Protobuf.

/** From the request to a point: `resource_metrics`, `scope_metrics`, `metrics`, `histogram`, `data_points`. */
const TO_POINT = [1, 2, 2, 9, 1]
const EXEMPLARS = 8

const PROTOBUF_FORM = [
  'application/x-protobuf',
  {
    ...ProtobufMetricsSerializer,
    serializeRequest(sent: ResourceMetrics) {
      const written = ProtobufMetricsSerializer.serializeRequest(sent) ?? Buffer.alloc(0)
      const exemplars = exemplarsOf(sent).values()
      return appendAt(Buffer.from(written), TO_POINT, () =>
        Buffer.concat((exemplars.next().value ?? []).map((one) => delimited(EXEMPLARS, asBytes(one)))),
      )
    },
  },
] as const

/** `time_unix_nano`, `as_double`, `span_id`, `trace_id`. */
function asBytes({ traceId, spanId, value, time }: Exemplar): Buffer {
  const numbers = Buffer.alloc(18)
  numbers.writeUInt8((2 << 3) | FIXED_64, 0)
  numbers.writeBigUInt64LE(nanoseconds(time), 1)
  numbers.writeUInt8((3 << 3) | FIXED_64, 9)
  numbers.writeDoubleLE(value, 10)
  return Buffer.concat([numbers, delimited(4, Buffer.from(spanId, 'hex')), delimited(5, Buffer.from(traceId, 'hex'))])
}

const VARINT = 0
const FIXED_64 = 1
const DELIMITED = 2

/** The message with more at the end of each message that this path of field numbers leads to, in their order. */
function appendAt(message: Buffer, [field, ...path]: readonly number[], more: () => Buffer): Buffer {
  if (field === undefined) return Buffer.concat([message, more()])
  const parts: Buffer[] = []
  for (let at = 0; at < message.length; ) {
    const [tag, value] = varintAt(message, at)
    const [length, content] = (tag & 7) === DELIMITED ? varintAt(message, value) : [0, endOf(message, tag & 7, value)]
    const end = content + length
    if (tag === ((field << 3) | DELIMITED))
      parts.push(delimited(field, appendAt(message.subarray(content, end), path, more)))
    else parts.push(message.subarray(at, end))
    at = end
  }
  return Buffer.concat(parts)
}

function endOf(message: Buffer, type: number, at: number): number {
  if (type === VARINT) return varintAt(message, at)[1]
  return at + (type === FIXED_64 ? 8 : 4)
}

/** The number, and where it ends. No length is longer than 32 bits. */
function varintAt(message: Buffer, start: number): readonly [value: number, end: number] {
  let value = 0
  let end = start
  for (let scale = 1; ; scale *= 128) {
    const byte = message[end] ?? 0
    end += 1
    value += (byte & 127) * scale
    if (byte < 128) return [value, end]
  }
}

function delimited(field: number, content: Buffer): Buffer {
  return Buffer.concat([varint((field << 3) | DELIMITED), varint(content.length), content])
}

function varint(value: number): Buffer {
  const bytes: number[] = []
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest])
    bytes.push((rest % 128) | 128)
  }
}
