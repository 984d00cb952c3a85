/**
 * POST /batch: its requests, one after the other, each with the caller and the connection of the batch. Their number, the
 * bytes of their answers and the time that they take have bounds together.
 */
import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { Problem } from '../../base/problems/problem.ts'
import type { Json } from '../../resources/resource.ts'
import type { AskInMemory, InMemoryAnswer, InMemoryRequest, OuterRequest } from '../http/in-memory.ts'
import { WrittenJson } from '../routes/entity-tag.ts'
import type { HandledRequest, Outcome, Services } from '../routes/handler.ts'
import { readIdempotencyKey } from '../stages/validate.ts'
import { type BatchPart, type BatchRequest, EarlierValues, refuseBatch, refuseFaulty } from './batch-parts.ts'

/** As long as a request may take to arrive. */
const LONGEST_MS = 30_000

/** Throws Problem invalid-body and invalid-idempotency-key, and the reason why the client is gone. */
export async function sendBatch(
  { batches }: Services,
  request: HandledRequest,
  body: Readonly<Record<string, Json>>,
): Promise<Outcome> {
  const { route, caller } = request
  const faults = route.exchange?.faults?.(body) ?? []
  if (faults.length > 0) refuseBatch(faults)
  const batch = body as unknown as BatchRequest
  refuseFaulty(batch)
  const key = readIdempotencyKey(request.received().req)
  if (key !== undefined && !caller) {
    throw new Problem('invalid-idempotency-key', 'An idempotency key needs a caller; send credentials.')
  }
  if (batch.atomic) {
    const detail = 'is not possible yet: send `false`, or each request by itself'
    refuseBatch([{ pointer: '/atomic', detail, code: 'atomic' }])
  }
  const running = new RunningBatch(request, key)
  for (const part of batch.requests) await running.ask(part, batches.ask)
  return { status: 200, headers: { 'Cache-Control': 'no-store' }, body: running.answer }
}

class RunningBatch {
  readonly #request: HandledRequest
  readonly #key: string | undefined
  readonly #outer: OuterRequest
  readonly #carried: Readonly<Record<string, string>>
  readonly #until = performance.now() + LONGEST_MS
  readonly #answers = new Map<string, InMemoryAnswer & { readonly method: string }>()
  readonly #values = new EarlierValues(this.#answers)
  #bytes = 0

  constructor(request: HandledRequest, key: string | undefined) {
    const { requestId, req, res } = request.received()
    this.#request = request
    this.#key = key
    this.#carried = carried(req.headers)
    this.#outer = { remoteAddress: req.socket.remoteAddress, within: res, batch: requestId }
  }

  async ask(part: BatchPart, ask: AskInMemory): Promise<InMemoryAnswer> {
    // Nobody would read the answer.
    this.#request.gone().throwIfAborted()
    const { method } = part
    const asked = this.#requestOf(part)
    const answer =
      asked instanceof Problem
        ? await ask({ method, path: '', headers: this.#carried }, { ...this.#outer, refusal: asked })
        : await ask({ ...asked, headers: { ...asked.headers, ...this.#carried } }, this.#outer)
    this.#bytes += Buffer.byteLength(answer.text)
    this.#answers.set(part.id, { ...answer, method })
    return answer
  }

  get answer(): WrittenJson {
    const texts = [...this.#answers].map(([id, answer]) => answerText(id, answer))
    return new WrittenJson(`{"responses":[${texts.join()}]}`)
  }

  #requestOf(part: BatchPart): InMemoryRequest | Problem {
    const { bodyBytes, answerBytes } = this.#request.snapshot.limits
    if (performance.now() > this.#until) return ended(`takes longer than ${LONGEST_MS / 1000} s`)
    if (this.#bytes > answerBytes) return ended(`has answers of more than ${answerBytes} bytes`)
    try {
      return this.#withKey(part, this.#values.requestOf(part, bodyBytes))
    } catch (error) {
      if (error instanceof Problem) return error
      throw error
    }
  }

  /** The key of the batch is that of each POST without its own. */
  #withKey({ id, method }: BatchPart, asked: InMemoryRequest): InMemoryRequest {
    if (this.#key === undefined || method !== 'POST' || 'idempotency-key' in asked.headers) return asked
    const key = createHash('sha256')
      .update(JSON.stringify([this.#key, id]))
      .digest('base64url')
    return { ...asked, headers: { ...asked.headers, 'idempotency-key': `batch:${key}` } }
  }
}

/** What is of the caller and of its connection. */
const CARRIED = ['authorization', 'host', 'x-forwarded-for', 'policy-sequence-at-least', 'traceparent', 'tracestate']

function carried(headers: IncomingHttpHeaders): Readonly<Record<string, string>> {
  return Object.fromEntries(
    CARRIED.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]])),
  )
}

function ended(why: string): Problem {
  return new Problem('batch-ended', `The batch ${why}; send the rest in another one.`, {
    headers: { 'Retry-After': '1' },
  })
}

/** Of the connection that there isn't. */
const LEFT_OUT: ReadonlySet<string> = new Set(['connection', 'content-length'])

function answerText(
  id: string,
  { method, status, headers, text }: InMemoryAnswer & { readonly method: string },
): string {
  const shown = Object.fromEntries(Object.entries(headers).filter(([name]) => !LEFT_OUT.has(name.toLowerCase())))
  const members = JSON.stringify({ id, status, headers: shown })
  return method === 'HEAD' || text === '' ? members : `${members.slice(0, -1)},"body":${text}}`
}
