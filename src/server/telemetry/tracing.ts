/**
 * The spans of requests, made by hand (docs/telemetry.md): one for the request, and children for authenticate, decide,
 * and what it asks of the database and of Redis. Only a sampled request has a context: the others run through nothing
 * of this file but the decision about them. A span has no ids, values, addresses or query texts.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingMessage } from 'node:http'
import {
  type Context,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { parseTraceParent, TraceState } from '@opentelemetry/core'
import type { Middleware, Next } from 'koa'
import proxyAddr from 'proxy-addr'
import type { Limiter } from '../../limits/limiter.ts'
import type { OpenedStore } from '../../store/contract.ts'
import { answeredStatus, recordOf } from '../answers/record.ts'
import { problemOf } from '../answers/to-problem.ts'
import type { RequestState, Traced, Writable } from '../stages/state.ts'
import type { SampleRequest } from './sampler.ts'

export interface TracingOptions {
  /** Samples every span that it starts. */
  readonly tracer: Tracer
  readonly isSampled: SampleRequest
  /** Whether `traceparent` and `tracestate` are read. */
  readonly continues: boolean
  /** CIDRs of proxies (TRUST_PROXY): what others say of their trace samples nothing. */
  readonly trustProxy: readonly string[]
  /** Of every request: attributes that say where the server is. */
  readonly server: Readonly<Record<string, string>>
}

/** In characters. A longer list is left out, so that no client fills the memory of the spans that wait. */
const LONGEST_STATE = 512

/** What the conventions call a method; others are `_OTHER`, so that a client can't make names without end. */
const METHODS = new Set(['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'QUERY', 'TRACE'])

/** Writes of objects; what else a request asks of the database is `store`. */
const COMMITS = new Set(['create', 'update', 'delete'])

type SpanAttributes = Readonly<Record<string, string>>
type AnyFunction = (...args: unknown[]) => unknown
type NamesSpan = (method: string, first: unknown) => { readonly name: string; readonly attributes: SpanAttributes }

export class Tracing {
  readonly #options: TracingOptions
  readonly #isTrusted: (address: string, hop: number) => boolean
  readonly #running = new AsyncLocalStorage<Context>()

  constructor(options: TracingOptions) {
    this.#options = options
    this.#isTrusted = proxyAddr.compile([...options.trustProxy])
  }

  /** Runs around all stages. */
  request(): Middleware<Writable<Traced>> {
    const { tracer, isSampled, continues, server } = this.#options
    return (ctx, next) => {
      const parent = continues ? parentOf(ctx.req) : undefined
      if (parent) ctx.state.traceId = parent.traceId
      if (!isSampled(parent && this.#isTrusted(ctx.req.socket.remoteAddress ?? '', 0) ? parent : undefined))
        return next()
      const method = METHODS.has(ctx.method) ? ctx.method : '_OTHER'
      const around = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT
      const span = tracer.startSpan(method, { kind: SpanKind.SERVER, attributes: server }, around)
      span.setAttribute('http.request.method', method)
      const { traceId, spanId } = span.spanContext()
      ctx.state.traceId = traceId
      ctx.state.span = { traceId, spanId }
      const running = this.#running.run(trace.setSpan(around, span), next)
      return running.finally(() => endRequest(span, method, ctx.state as RequestState))
    }
  }

  /** A stage with a span, which ends where the next stage begins. */
  readonly stage = <S extends (ctx: never, next: Next) => unknown>(name: string, stage: S): S => {
    const traced = (ctx: never, next: Next) => {
      const around = this.#running.getStore()
      if (!around) return stage(ctx, next)
      return this.#within(around, { name, attributes: {} }, SpanKind.INTERNAL, (span) =>
        stage(ctx, () => {
          span.end()
          return this.#running.run(around, next)
        }),
      )
    }
    return traced as S
  }

  /** The same database, whose calls have a span within a request. Several requests may share one statement. */
  database(opened: OpenedStore, engine: 'sqlite' | 'postgres'): OpenedStore {
    const [system, kind] =
      engine === 'sqlite' ? (['sqlite', SpanKind.INTERNAL] as const) : (['postgresql', SpanKind.CLIENT] as const)
    const attributes = { 'db.system.name': system }
    const named: NamesSpan = (method, first) => ({
      name: COMMITS.has(method) ? 'commit' : 'store',
      attributes: { ...attributes, 'db.operation.name': method, ...collectionOf(first) },
    })
    const directory: NamesSpan = (method) => ({
      name: 'store',
      attributes: { ...attributes, 'db.operation.name': method },
    })
    return {
      ...opened,
      store: this.#calls(opened.store, kind, named),
      directory: this.#calls(opened.directory, kind, directory),
    }
  }

  /** A limiter in Redis. Several requests share one call. */
  redis(limiter: Limiter): Limiter {
    const attributes = { 'db.system.name': 'redis' }
    return this.#calls(limiter, SpanKind.CLIENT, (method) => ({
      name: 'limit',
      attributes: { ...attributes, 'db.operation.name': method },
    }))
  }

  #calls<T extends object>(target: T, kind: SpanKind, named: NamesSpan): T {
    const methods = methodsOf(target).map(([name, method]): [string, AnyFunction] => {
      const call: AnyFunction = (...args) => {
        const around = this.#running.getStore()
        // A transaction of reads is no call of its own: its reads are.
        if (!around || name === 'inOneReadTransaction') return method(...args)
        return this.#within(around, named(name, args[0]), kind, () => method(...args))
      }
      return [name, call]
    })
    return Object.fromEntries(methods) as T
  }

  #within(
    around: Context,
    { name, attributes }: ReturnType<NamesSpan>,
    kind: SpanKind,
    work: (span: Span) => unknown,
  ): unknown {
    const span = this.#options.tracer.startSpan(name, { kind, attributes }, around)
    // A stage has ended its span if a later one fails.
    const end = () => {
      if (span.isRecording()) span.end()
    }
    const fail = (error: unknown): never => {
      const { status, code } = problemOf(error, undefined)
      if (status >= 500 && span.isRecording()) {
        span.setStatus({ code: SpanStatusCode.ERROR }).setAttribute('error.type', code)
      }
      end()
      throw error
    }
    const succeed = (result: unknown) => {
      end()
      return result
    }
    try {
      const result = this.#running.run(trace.setSpan(around, span), work, span)
      return result instanceof Promise ? result.then(succeed, fail) : succeed(result)
    } catch (error) {
      return fail(error)
    }
  }
}

/** The trace that the client says the request is in. */
function parentOf({ headers: { traceparent, tracestate } }: IncomingMessage): SpanContext | undefined {
  // Node joins repeated headers by commas. So two `traceparent` aren't valid together; `tracestate` is a list anyway.
  const found = typeof traceparent === 'string' ? parseTraceParent(traceparent) : null
  if (!found) return undefined
  const isShort = typeof tracestate === 'string' && tracestate.length <= LONGEST_STATE
  return { ...found, isRemote: true, ...(isShort && { traceState: new TraceState(tracestate) }) }
}

/** The name of a resource. No first argument of the store is an id. */
function collectionOf(first: unknown): SpanAttributes {
  const name = typeof first === 'object' && first !== null && 'resource' in first ? first.resource : first
  return typeof name === 'string' ? { 'db.collection.name': name } : {}
}

function methodsOf(target: object): readonly [string, AnyFunction][] {
  const names = new Set<string>()
  for (let one = target; one !== Object.prototype; one = Object.getPrototypeOf(one)) {
    for (const name of Object.getOwnPropertyNames(one)) names.add(name)
  }
  return [...names].flatMap((name): [string, AnyFunction][] => {
    const value: unknown = Reflect.get(target, name)
    return name !== 'constructor' && typeof value === 'function' ? [[name, value.bind(target)]] : []
  })
}

/** What the decision record says, as far as it names no caller, object or value. */
function endRequest(span: Span, method: string, state: RequestState): void {
  try {
    const { route, resource, action, outcome, problem, rules, revision } = state.committed?.unmasked ?? recordOf(state)
    const status = answeredStatus(state)
    if (route !== undefined) span.updateName(`${method} ${route}`)
    const known = {
      'http.route': route,
      'http.response.status_code': status,
      'sallyport.resource': resource,
      'sallyport.action': action,
      'sallyport.policy.revision': revision,
      'sallyport.outcome': outcome,
      'sallyport.problem': problem,
      'sallyport.rules': rules && [...rules],
    }
    for (const [name, value] of Object.entries(known)) if (value !== undefined) span.setAttribute(name, value)
    if (status >= 500) {
      span.setStatus({ code: SpanStatusCode.ERROR }).setAttribute('error.type', problem ?? String(status))
    }
  } finally {
    span.end()
  }
}
