/** Sends one request over HTTP and reads the answer as text; waits and retries if the server asks for it. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Json } from '../../../resources/resource.ts'

export interface HttpRequest {
  readonly method: string
  readonly url: string
  readonly token?: string | undefined
  readonly body?: Json | undefined
  readonly headers?: Readonly<Record<string, string>>
}

export interface HttpAnswer {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  /** Undefined without a body, or if the body isn't JSON. */
  readonly json: Json | undefined
}

export interface Patience {
  /** How often a request is sent again after 429 or 503. */
  readonly attempts: number
  /** In milliseconds. A longer `Retry-After` isn't waited for. */
  readonly longestWait: number
}

/** The server can't be reached, or doesn't answer in time. */
export class NoAnswer extends Error {
  constructor(url: string, cause: unknown) {
    const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause
    const why =
      inner instanceof Error ? inner.message || (inner as NodeJS.ErrnoException).code || inner.name : String(inner)
    super(`${new URL(url).origin} does not answer (${why})`, { cause })
    this.name = 'NoAnswer'
  }
}

const TIMEOUT_MS = 30_000

/** Redirects are answers. Throws NoAnswer. */
export async function ask({ method, url, token, body, headers = {} }: HttpRequest): Promise<HttpAnswer> {
  try {
    const response = await fetch(url, {
      method,
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    // A stream of events goes on until it is left.
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
    if (isStream) await response.body?.cancel()
    const text = isStream ? '' : await response.text()
    return { status: response.status, headers: Object.fromEntries(response.headers), text, json: parse(text) }
  } catch (error) {
    throw new NoAnswer(url, error)
  }
}

/**
 * Retries after 429 and 503, when `Retry-After` allows it (RFC 9110 section 10.2.3), unless that status is `wanted`.
 */
export async function askPatiently(request: HttpRequest, patience: Patience, wanted?: number): Promise<HttpAnswer> {
  for (let attempt = 1; ; attempt++) {
    const answer = await ask(request)
    const refused = answer.status === 429 || answer.status === 503
    const wait = retryAfter(answer.headers['retry-after'], Date.now())
    if (!refused || answer.status === wanted || attempt > patience.attempts || wait > patience.longestWait)
      return answer
    await sleep(wait)
  }
}

/** Milliseconds; one second if the server gives no time. */
export function retryAfter(value: string | undefined, now: number): number {
  if (value !== undefined && /^\d{1,9}$/.test(value)) return Number(value) * 1000
  const at = Date.parse(value ?? '')
  return Number.isNaN(at) ? 1000 : Math.max(0, at - now)
}

/** The ids of a new object: in the body, or in `Location` if the caller may not read the body. */
export function idsIn({ json, headers }: HttpAnswer): readonly string[] {
  const inBody = typeof json === 'object' && json !== null && 'id' in json ? [json.id] : []
  const inPath = headers.location?.split('/').at(-1)
  return [...inBody, inPath && decodeURIComponent(inPath)].filter((id) => typeof id === 'string')
}

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}
