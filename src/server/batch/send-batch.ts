/**
 * POST /batch: its requests, one after the other, each with the caller and the connection of the batch. Their number, the
 * bytes of their answers and the time that they take have bounds together.
 */
import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { ProblemCode } from '../../base/problems/catalogue.ts'
import { Problem } from '../../base/problems/problem.ts'
import { callerKey } from '../../decide/caller.ts'
import type { StoredObject } from '../../resources/object.ts'
import type { Json } from '../../resources/resource.ts'
import { PROBLEM_TYPE, problemDocument } from '../answers/to-problem.ts'
import type { AskInMemory, InMemoryAnswer, InMemoryRequest, OuterRequest } from '../http/in-memory.ts'
import { claimOf, once } from '../idempotency/idempotency-key.ts'
import { WrittenJson } from '../routes/entity-tag.ts'
import type { HandledRequest, Outcome, Services } from '../routes/handler.ts'
import { readIdempotencyKey } from '../stages/validate.ts'
import { type BatchPart, type BatchRequest, EarlierValues, refuseBatch, refuseFaulty } from './batch-parts.ts'
import { PartFailed } from './hold-requests.ts'

/** As long as a request may take to arrive. */
const LONGEST_MS = 30_000

/** Writes of others wait, on SQLite for a second (src/store/sqlite/database.ts). */
const LONGEST_ATOMIC_MS = 700

/** Throws Problem, for an atomic batch also that of its request that failed, and the reason why the client is gone. */
export async function sendBatch(
  services: Services,
  request: HandledRequest,
  body: Readonly<Record<string, Json>>,
): Promise<Outcome> {
  const { route, caller } = request
  const faults = route.exchange?.faults?.(body) ?? []
  if (faults.length > 0) refuseBatch(faults)
  const batch = body as unknown as BatchRequest
  refuseFaulty(batch)
  const key = readIdempotencyKey(request.received().req)
  const claim = claimOf(key, { caller, route: route.path, body })
  return services.batches.underWay.run(callerKey(request), async () => {
    if (batch.atomic) return sendAtomic(services, request, batch, claim)
    const running = new RunningBatch(request, { key, ms: LONGEST_MS })
    for (const part of batch.requests) await running.ask(part, services.batches.ask)
    return answered(running.answer)
  })
}

function answered(body: WrittenJson, headers: Outcome['headers'] = {}): Outcome {
  return { status: 200, headers: { 'Cache-Control': 'no-store', ...headers }, body }
}

// All or none.

function sendAtomic(
  services: Services,
  request: HandledRequest,
  { requests }: BatchRequest,
  claim: ReturnType<typeof claimOf>,
): Promise<Outcome> {
  const create = () => sendTogether(services.batches, request, requests, claim)
  if (!claim) return create()
  return once(services, claim, { create, replay: async ({ object }) => replayed(object) })
}

async function sendTogether(
  { ask, atomically }: Services['batches'],
  request: HandledRequest,
  requests: readonly BatchPart[],
  claim: ReturnType<typeof claimOf>,
): Promise<Outcome> {
  if (!atomically) return refuseBatch([NO_TRANSACTIONS])
  const running = new RunningBatch(request, { key: undefined, ms: LONGEST_ATOMIC_MS })
  try {
    await atomically(callerKey(request), async (inside) => {
      running.begin()
      for (const part of requests) {
        if ((await running.ask(part, inside.ask)).status >= 400) throw new PartFailed()
      }
      if (claim) await inside.keep(claim, running.kept())
    })
  } catch (error) {
    if (!(error instanceof PartFailed)) throw error
    throw await running.undo(requests, ask)
  }
  return answered(running.answer)
}

const NO_TRANSACTIONS = {
  pointer: '/atomic',
  detail: 'is not possible here: send `false`, or each request by itself',
  code: 'atomic',
}

/** What a caller may read can change, so no body is kept. */
function replayed({ document }: StoredObject): Outcome {
  return answered(new WrittenJson(JSON.stringify(document)), { 'Idempotency-Replayed': 'true' })
}

const KEPT_HEADERS = ['Location', 'ETag']

/** Headers of the answer to a failed request that are the answer's to the batch too. */
const PASSED_ON = ['Retry-After', 'WWW-Authenticate']

type PartAnswer = InMemoryAnswer & { readonly method: string }

interface BatchBounds {
  /** The idempotency key of each POST that has no key. */
  readonly key: string | undefined
  readonly ms: number
}

class RunningBatch {
  readonly #request: HandledRequest
  readonly #bounds: BatchBounds
  readonly #outer: OuterRequest
  readonly #carried: Readonly<Record<string, string>>
  #begun = performance.now()
  readonly #answers = new Map<string, PartAnswer>()
  readonly #values = new EarlierValues(this.#answers)
  #bytes = 0

  constructor(request: HandledRequest, bounds: BatchBounds) {
    const { requestId, req, res } = request.received()
    this.#request = request
    this.#bounds = bounds
    this.#carried = carried(req.headers)
    this.#outer = { remoteAddress: req.socket.remoteAddress, within: res, batch: requestId }
  }

  /** From now on its time counts: it may have waited for others. */
  begin(): void {
    this.#begun = performance.now()
  }

  async ask(part: BatchPart, ask: AskInMemory): Promise<InMemoryAnswer> {
    // Nobody would read the answer.
    this.#request.gone().throwIfAborted()
    const { method } = part
    const asked = this.#requestOf(part)
    const given =
      asked instanceof Problem
        ? await this.#refuse(part, asked, ask)
        : await ask({ ...asked, headers: { ...asked.headers, ...this.#carried } }, this.#outer)
    // What a HEAD doesn't send isn't kept; a refusal is short, and ends an atomic batch with its code.
    const answer = method === 'HEAD' && given.status < 400 ? { ...given, text: '' } : given
    this.#bytes += Buffer.byteLength(answer.text)
    this.#answers.set(part.id, { ...answer, method })
    return answer
  }

  #refuse({ method }: BatchPart, refusal: Problem, ask: AskInMemory): Promise<InMemoryAnswer> {
    return ask({ method, path: '', headers: this.#carried }, { ...this.#outer, refusal })
  }

  /** The last answer is a refusal: all others are undone, or not done any more. */
  async undo(requests: readonly BatchPart[], ask: AskInMemory): Promise<Problem> {
    const [failed, { headers, text }] = [...this.#answers].at(-1) as [string, PartAnswer]
    const undone = new Problem(
      'failed-dependency',
      `The request \`${failed}\` of the batch failed, so this one is not done.`,
    )
    for (const part of requests) {
      if (part.id === failed) continue
      const { method } = part
      const before = this.#answers.get(part.id)
      const answer = before ? undoneAnswer(undone, before.requestId) : await this.#refuse(part, undone, ask)
      this.#answers.set(part.id, { ...answer, method })
    }
    const { code } = JSON.parse(text) as { readonly code: ProblemCode }
    const responses = requests.map(({ id }) => JSON.parse(answerText(id, this.#answers.get(id) as PartAnswer)))
    const detail = `The request \`${failed}\` failed, so nothing of the batch is done; \`responses\` has its answer.`
    return new Problem(code, detail, { headers: some(headers, PASSED_ON), members: { responses } })
  }

  /** The answers without their bodies, as an object that can be kept. */
  kept(): StoredObject {
    const time = new Date(this.#request.at).toISOString()
    const responses = [...this.#answers].map(([id, { status, headers }]) => {
      return { id, status, headers: some(headers, KEPT_HEADERS) }
    })
    const { requestId } = this.#request.received()
    return { id: requestId, version: 1, createdAt: time, updatedAt: time, document: { responses } }
  }

  get answer(): WrittenJson {
    const texts = [...this.#answers].map(([id, answer]) => answerText(id, answer))
    return new WrittenJson(`{"responses":[${texts.join()}]}`)
  }

  #requestOf(part: BatchPart): InMemoryRequest | Problem {
    const { bodyBytes, answerBytes } = this.#request.snapshot.limits
    const { ms } = this.#bounds
    if (performance.now() - this.#begun > ms) return ended(`takes longer than ${ms / 1000} s`)
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
    const { key: whole } = this.#bounds
    if (whole === undefined || method !== 'POST' || 'idempotency-key' in asked.headers) return asked
    const key = createHash('sha256')
      .update(JSON.stringify([whole, id]))
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

function undoneAnswer(undone: Problem, requestId: string): InMemoryAnswer {
  const text = JSON.stringify(problemDocument(undone, requestId))
  return { status: undone.status, headers: { 'Content-Type': PROBLEM_TYPE }, text, requestId }
}

function some(headers: Readonly<Record<string, string>>, names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => names.includes(name)))
}
