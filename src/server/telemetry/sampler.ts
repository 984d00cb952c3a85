/**
 * Which requests are sampled (OTEL_TRACES_SAMPLER). Whoever asks can write any `traceparent`: neither its flag nor its
 * trace id decides, unless a trusted proxy sent it. So no client can have all of its requests traced, or none. It is
 * decided before a span is made, so that the other requests cost nothing.
 */
import { ROOT_CONTEXT, type SpanContext, TraceFlags } from '@opentelemetry/api'
import { SamplingDecision, TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace'
import type { TraceSettings } from '../../config/telemetry.ts'

/** `parent`: what a trusted proxy says of the trace that the request is in. */
export type SampleRequest = (parent: SpanContext | undefined) => boolean

export function createSampler({ ratio, isParentBased }: Pick<TraceSettings, 'ratio' | 'isParentBased'>): SampleRequest {
  const byId = new TraceIdRatioBasedSampler(ratio)
  return (parent) => {
    if (!parent) return Math.random() < ratio
    if (isParentBased) return (parent.traceFlags & TraceFlags.SAMPLED) !== 0
    return byId.shouldSample(ROOT_CONTEXT, parent.traceId).decision !== SamplingDecision.NOT_RECORD
  }
}
