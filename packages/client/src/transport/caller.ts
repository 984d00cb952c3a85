/** Calls of a policy decision point: credentials, deadline, status and JSON. What an answer means is read elsewhere. */
import { AuthzenError, type ErrorCode } from '../error.ts'
import type { Settings } from '../options.ts'
import { Connections, type Exchange, type RawAnswer } from './exchange.ts'
import { parseJson } from './json.ts'

export interface CallOptions {
  /** Ends the question, which then throws with the code `aborted`. */
  readonly signal?: AbortSignal | undefined
  /** Instead of that of the client. */
  readonly timeoutMs?: number | undefined
  /** Sent as `X-Request-ID`, for the log of the server. */
  readonly requestId?: string | undefined
}

export interface Answer {
  readonly body: Readonly<Record<string, unknown>>
  /** Of the policy that decided, as far as the server tells it. */
  readonly revision: string | undefined
}

const MOST_QUOTED = 2000

/** Without the second, any content coding may be sent. */
const ASKED_FOR = { Accept: 'application/json', 'Accept-Encoding': 'identity' }

export class Caller {
  readonly #settings: Settings
  readonly #connections: Connections

  constructor(settings: Settings) {
    this.#settings = settings
    this.#connections = new Connections(settings)
  }

  close(): void {
    this.#connections.close()
  }

  async get(url: URL): Promise<Answer> {
    return this.#call({ method: 'GET', url, headers: {} }, {})
  }

  /** `body` is JSON. Throws AuthzenError. */
  async post(url: URL, body: string, options: CallOptions): Promise<Answer> {
    return this.#call({ method: 'POST', url, headers: { 'Content-Type': 'application/json' }, body }, options)
  }

  async #call(exchange: Exchange, options: CallOptions): Promise<Answer> {
    const { requestId } = options
    try {
      const own = requestId === undefined ? {} : { 'X-Request-ID': requestId }
      const raw = await this.#inTime(options, async (signal) => {
        const headers = { ...ASKED_FOR, ...exchange.headers, ...own, ...(await this.#credentials()) }
        signal.throwIfAborted()
        return this.#connections.exchange({ ...exchange, headers }, signal)
      })
      return readAnswer(raw, requestId)
    } catch (error) {
      if (error instanceof AuthzenError) throw error
      throw new AuthzenError('not-asked', 'the question could not be sent', { cause: error, requestId })
    }
  }

  async #credentials(): Promise<Readonly<Record<string, string>>> {
    const { token, headers } = this.#settings
    if (token === undefined) return headers
    return { ...headers, Authorization: `Bearer ${typeof token === 'function' ? await token() : token}` }
  }

  async #inTime<T>({ signal, timeoutMs = this.#settings.timeoutMs, requestId }: CallOptions, run: Run<T>): Promise<T> {
    const controller = new AbortController()
    const late = `the policy decision point didn't answer within ${timeoutMs} ms`
    const timer = setTimeout(() => controller.abort(new AuthzenError('timeout', late, { requestId })), timeoutMs)
    const onAbort = () => controller.abort(abortedBy(signal, requestId))
    if (signal?.aborted) onAbort()
    signal?.addEventListener('abort', onAbort, { once: true })
    try {
      // The token's function knows no signal.
      return await Promise.race([run(controller.signal), rejectionOf(controller.signal)])
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
    }
  }
}

type Run<T> = (signal: AbortSignal) => Promise<T>

export function abortedBy(signal: AbortSignal | undefined, requestId?: string): AuthzenError {
  return new AuthzenError('aborted', 'the question was aborted by its caller', { cause: signal?.reason, requestId })
}

/** Leaves nothing behind at a signal that outlives the question. */
export function orAborted<T>(asked: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(abortedBy(signal))
    signal.addEventListener('abort', onAbort, { once: true })
    asked.finally(() => signal.removeEventListener('abort', onAbort)).then(resolve, reject)
  })
}

function rejectionOf(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason)
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

function readAnswer({ status, headers, text }: RawAnswer, requestId: string | undefined): Answer {
  const details = { status, requestId, answered: text.slice(0, MOST_QUOTED) }
  if (status !== 200) {
    throw new AuthzenError(codeOf(status), `the policy decision point answered with status ${status}`, details)
  }
  if (!/^application\/json *(?:;|$)/i.test(headers['content-type'] ?? '')) {
    throw new AuthzenError('invalid-answer', 'the answer is not `application/json`', details)
  }
  const coding = headers['content-encoding'] ?? 'identity'
  if (coding.trim().toLowerCase() !== 'identity') {
    throw new AuthzenError('invalid-answer', `the answer has the content coding \`${coding}\``, details)
  }
  const body = readObject(text)
  if (body === undefined)
    throw new AuthzenError('invalid-answer', 'the answer is no JSON object, or names a member twice', details)
  const revision = headers['policy-revision']
  return { body, revision: typeof revision === 'string' ? revision : undefined }
}

function codeOf(status: number): ErrorCode {
  if (status >= 500) return 'failed'
  return status >= 400 ? 'refused' : 'invalid-answer'
}

function readObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = parseJson(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
