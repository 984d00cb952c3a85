export interface ClientOptions {
  /** Where the server is, such as `https://api.example.com`. */
  readonly url: string
  /**
   * Sent as `Authorization: Bearer`. A function is asked before each attempt. It is given the token that the server has
   * refused as expired or invalid, and the request is sent once more if it gives another one then.
   */
  readonly token?: string | ((refused?: string) => string | undefined | Promise<string | undefined>) | undefined
  /** How often a request is sent at most (5), and once more with a new token. */
  readonly attempts?: number | undefined
  /** In seconds: if `Retry-After` asks for more, the problem is thrown at once (30). */
  readonly longestWait?: number | undefined
  /** Another `fetch`. */
  readonly fetch?: typeof fetch | undefined
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined
}

export interface CreateOptions extends CallOptions {
  /** A key of your own, if your program may create the same object again after a restart. */
  readonly idempotencyKey?: string | undefined
}

export interface WriteOptions extends CallOptions {
  /** Another tag than that of the object which you give; `*` for any state. */
  readonly ifMatch?: string | undefined
}

export interface RunOptions extends CreateOptions, WriteOptions {}

const KNOWN: unique symbol = Symbol('where an object was read, and its tag')

interface Known {
  readonly id: string | undefined
  readonly tag: string | undefined
}

/** An object as it was read alone, or written. It remembers its tag, which a copy (`{ ...object }`) doesn't. */
export type Read<T> = T & { readonly [KNOWN]: Known }

export type ProblemCode = Schemas['Problem']['code']

/** Every refusal of the server (RFC 9457). Branch on `code`, and show `detail` and `errors` to people. */
export class ApiProblem extends Error {
  override readonly name = 'ApiProblem'
  readonly status: number
  /** `unreadable-answer`: something on the way answered that isn't this server. */
  readonly code: ProblemCode | 'unreadable-answer'
  readonly detail: string
  /** The fields with a mistake. */
  readonly errors: NonNullable<Schemas['Problem']['errors']>
  /** The server's log knows the request by it. */
  readonly requestId: string | undefined
  /** In seconds. */
  readonly retryAfter: number | undefined
  /** If there were several, an earlier one may have done what was asked: read the object, it tells. */
  readonly attempts: number
  readonly wwwAuthenticate: string | null
  /** All that the server said. */
  readonly problem: Schemas['Problem'] | undefined

  constructor(
    { status, headers }: Response,
    problem: Schemas['Problem'] | undefined,
    attempts: number,
    fault = `The answer with the status ${status} can't be read.`,
  ) {
    const detail = problem?.detail ?? fault
    super(`${problem?.code ?? 'unreadable-answer'}: ${detail}`)
    this.status = status
    this.code = problem?.code ?? 'unreadable-answer'
    this.detail = detail
    this.errors = problem?.errors ?? []
    this.requestId = problem?.instance.replace(/^urn:uuid:/, '')
    this.retryAfter = headers.has('Retry-After') ? secondsOf(headers.get('Retry-After') ?? '') : undefined
    this.attempts = attempts
    this.wwwAuthenticate = headers.get('WWW-Authenticate')
    this.problem = problem
  }
}

interface Batched {
  readonly atomic?: boolean | undefined
  readonly requests: readonly { readonly method: string; readonly headers?: Readonly<Record<string, string>> }[]
}

type Query = object
type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

interface Asked {
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: unknown
  /** A second one has no second effect. */
  readonly repeatable: boolean
}

interface Prepared extends RequestInit {
  readonly url: string
  readonly headers: Headers
}

interface Answered {
  readonly headers: Headers
  readonly body: unknown
}

/** The server refuses a token with them before it does anything. */
const REFUSED_TOKEN: ReadonlySet<string> = new Set<ProblemCode>(['token-expired', 'token-invalid'])

/** The requests of a client, each sent again where that is safe and may help. */
class Connection {
  readonly #options: ClientOptions
  /** What a refused token was followed by: requests that it was refused for together ask for one new token. */
  #renewal: { readonly refused: string; readonly fresh: Promise<string | undefined> } | undefined

  constructor(options: ClientOptions) {
    this.#options = options
  }

  async page<Page>(path: string, query: Query, options: CallOptions): Promise<Page> {
    const { body } = await this.#send('GET', withQuery(path, query), { repeatable: true }, options)
    return body as Page
  }

  /** The objects of all pages; a page is asked for when the objects before it are used up. */
  async *list<Listed>(path: string, query: Query, options: CallOptions): AsyncGenerator<Listed, void, undefined> {
    let cursor: string | null | undefined
    do {
      const asked: Query = cursor ? { ...query, cursor } : query
      const page = await this.page<{ items: Listed[]; next: string | null }>(path, asked, options)
      yield* page.items
      cursor = page.next
    } while (cursor)
  }

  /** The one version of a history that `query` names: there was an object then. */
  async version<Version extends { readonly object: unknown }>(path: string, query: Query, options: CallOptions) {
    const { items } = await this.page<{ items: Version[] }>(path, query, options)
    return items[0] as Version & { readonly object: NonNullable<Version['object']> }
  }

  async get<T extends object>(path: string, id: string | undefined, query: Query, options: CallOptions) {
    const answer = await this.#send('GET', withQuery(at(path, id), query), { repeatable: true }, options)
    return read<T>(answer, id)
  }

  async create<T extends object>(path: string, body: unknown, options: CreateOptions) {
    const answer = await this.#post(path, body, true, options)
    const id = answer.headers.get('Location')?.split('/').at(-1)
    return read<T>(answer, id === undefined ? undefined : decodeURIComponent(id))
  }

  /** A batch, which is sent again only if none of its requests can do something twice. */
  async batch<T>(path: string, body: Batched, options: CreateOptions): Promise<T> {
    const repeatable = body.atomic === true || body.requests.every(({ method, headers }) => once(method, headers))
    return (await this.#post(path, body, repeatable, options)).body as T
  }

  async update<T extends object>(path: string, of: Of<object>, change: unknown, options: WriteOptions) {
    const type = Array.isArray(change) ? 'application/json-patch+json' : 'application/merge-patch+json'
    return this.#write<T>('PATCH', path, of, options, { 'Content-Type': type }, change)
  }

  async replace<T extends object>(path: string, of: Of<object>, body: unknown, options: WriteOptions) {
    return this.#write<T>('PUT', path, of, options, {}, body)
  }

  /** A command: whoever sends it again with its key gets the first answer. */
  async run<T extends object>(path: string, of: Of<object>, body: unknown, options: RunOptions): Promise<Read<T>> {
    const known = knownOf(of, options.ifMatch)
    const tag = options.ifMatch ?? known.tag
    const key = { 'Idempotency-Key': options.idempotencyKey ?? newKey() }
    const headers = tag === undefined ? key : { ...key, 'If-Match': tag }
    return read<T>(await this.#send('POST', at(path, known.id), { headers, body, repeatable: true }, options), known.id)
  }

  async delete(path: string, of: Of<object>, options: WriteOptions): Promise<void> {
    await this.#write('DELETE', path, of, options)
  }

  async #write<T extends object>(
    method: Method,
    path: string,
    of: Of<object>,
    options: WriteOptions,
    others: Readonly<Record<string, string>> = {},
    body?: unknown,
  ): Promise<Read<T>> {
    const known = knownOf(of, options.ifMatch)
    const tag = options.ifMatch ?? known.tag
    const headers: Record<string, string> = tag === undefined ? { ...others } : { ...others, 'If-Match': tag }
    const asked: Asked = { headers, body, repeatable: once(method, headers) }
    return read<T>(await this.#send(method, at(path, known.id), asked, options), known.id)
  }

  async #post(path: string, body: unknown, repeatable: boolean, options: CreateOptions): Promise<Answered> {
    const headers = { 'Idempotency-Key': options.idempotencyKey ?? newKey() }
    return this.#send('POST', path, { headers, body, repeatable }, options)
  }

  /** An answer that `receive` reads, and gets by `fetch`. */
  open<T>(path: string, headers: Asked['headers'], signal: AbortSignal, receive: Receive<T>): Promise<T> {
    return this.#attempts('GET', path, { headers, repeatable: true }, signal, receive)
  }

  fetch({ url, ...init }: Prepared, signal: AbortSignal | undefined): Promise<Response> {
    return (this.#options.fetch ?? fetch)(new Request(url, signal === undefined ? init : { ...init, signal }))
  }

  /** In seconds. */
  get longestWait(): number {
    return this.#options.longestWait ?? 30
  }

  #send(method: Method, path: string, asked: Asked, { signal }: CallOptions): Promise<Answered> {
    return this.#attempts(method, path, asked, signal, async (request, attempt) =>
      answered(await this.fetch(request, signal), attempt),
    )
  }

  async #attempts<T>(
    method: Method,
    path: string,
    asked: Asked,
    signal: AbortSignal | undefined,
    receive: Receive<T>,
  ): Promise<T> {
    const { attempts = 5 } = this.#options
    let fresh: string | undefined
    for (let attempt = 1; ; attempt++) {
      signal?.throwIfAborted()
      const token = fresh ?? (await this.#token())
      const request = this.#request(method, path, asked, token)
      const repeatable = asked.repeatable && (method !== 'POST' || request.headers.has('Idempotency-Key'))
      let wait = 0
      try {
        return await receive(request, attempt)
      } catch (error) {
        fresh ??= await this.#renewed(error, token)
        if (fresh !== undefined && fresh !== token) continue
        wait = waitAfter(error)
        if (attempt >= attempts || wait > this.longestWait || signal?.aborted || !mayHelp(error, repeatable))
          throw error
      }
      // Longer each time; the random part keeps clients from coming back all at once.
      await pause(wait + 0.1 * 2 ** attempt * Math.random(), signal)
    }
  }

  async #token(refused?: string): Promise<string | undefined> {
    const { token } = this.#options
    return typeof token === 'function' ? token(refused) : token
  }

  /** Another token than the one that was refused. */
  async #renewed(error: unknown, refused: string | undefined): Promise<string | undefined> {
    if (refused === undefined || typeof this.#options.token !== 'function') return undefined
    if (!(error instanceof ApiProblem) || !REFUSED_TOKEN.has(error.code)) return undefined
    if (this.#renewal?.refused === refused) return this.#renewal.fresh
    const fresh = this.#token(refused).then((token) => (token === refused ? undefined : token))
    this.#renewal = { refused, fresh }
    const forget = () => {
      if (this.#renewal?.fresh === fresh) this.#renewal = undefined
    }
    fresh.then((token) => token ?? forget(), forget)
    return fresh
  }

  #request(method: Method, path: string, asked: Asked, token: string | undefined): Prepared {
    const headers = new Headers({ Accept: 'application/json', ...asked.headers })
    if (token !== undefined) headers.set('Authorization', `Bearer ${readableToken(token)}`)
    // The server keeps keys only for callers that it knows.
    else headers.delete('Idempotency-Key')
    if (asked.body !== undefined && !headers.has('Content-Type')) headers.set('Content-Type', 'application/json')
    const body = asked.body === undefined ? {} : { body: JSON.stringify(asked.body) }
    return { url: `${this.#options.url.replace(/\/+$/, '')}${path}`, method, headers, ...body }
  }
}

/** Gets an answer and reads it, or throws ApiProblem. */
type Receive<T> = (request: Prepared, attempt: number) => Promise<T>

async function answered(response: Response, attempt: number): Promise<Answered> {
  const text = await response.text()
  const body = text === '' ? undefined : parsed(text)
  if (!response.ok) throw new ApiProblem(response, isProblem(body) ? body : undefined, attempt)
  if (text !== '' && body === undefined) throw new ApiProblem(response, undefined, attempt)
  return { headers: response.headers, body }
}

/** An object that was read, or an id: then nothing is compared, unless `ifMatch` says what. */
type Of<T> = string | Read<T>

function knownOf(of: Of<object>, tag: string | undefined): Known {
  if (typeof of === 'string') return { id: of, tag: undefined }
  const known = of[KNOWN]
  if (known === undefined || (known.tag === undefined && tag === undefined)) {
    throw new TypeError("this object has no tag: read it with `get`, or give its id, which doesn't compare")
  }
  return known
}

/** The caller may be permitted to read no field: then there is no body. */
function read<T extends object>({ headers, body }: Answered, id: string | undefined): Read<T> {
  const known: Known = { id, tag: headers.get('ETag') ?? undefined }
  return Object.defineProperty(body ?? {}, KNOWN, { value: known }) as Read<T>
}

/** Whether a repeat can't do it twice. A PATCH can, unless it names the state that it changes. */
function once(method: string, headers: Readonly<Record<string, string>> = {}): boolean {
  if (method !== 'PATCH') return true
  const tag = Object.entries(headers).find(([name]) => name.toLowerCase() === 'if-match')?.[1]
  return tag !== undefined && tag.trim() !== '*'
}

/** After 429 nothing was done. Else nobody knows, or (409 with Retry-After) another request is still at it. */
function mayHelp(error: unknown, repeatable: boolean): boolean {
  if (!(error instanceof ApiProblem)) return repeatable
  if (error.status === 429) return true
  return repeatable && (error.status >= 502 || (error.status === 409 && error.retryAfter !== undefined))
}

function waitAfter(error: unknown): number {
  return error instanceof ApiProblem ? (error.retryAfter ?? 0) : 0
}

function at(path: string, id: string | undefined): string {
  return id === undefined ? path : path.replace(/\{\w+\}/, () => segment(id))
}

/** One segment of a path: with any other id, the path would be another one. */
function segment(id: string): string {
  if (id === '' || id === '.' || id === '..')
    throw new TypeError(`${JSON.stringify(id)} is no id: give that of an object`)
  return encodeURIComponent(id)
}

/** Each parameter stands once: `sort=-createdAt,status`. */
function withQuery(path: string, query: Query): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  if (given.length === 0) return path
  return `${path}?${given.map((pair) => pair.map((one) => encodeURIComponent(String(one))).join('=')).join('&')}`
}

/** The error of `fetch` for such a header would have the token in it. */
function readableToken(token: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return token
  throw new TypeError('the token has spaces or other characters that no header has: give the token alone')
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isProblem(body: unknown): body is Schemas['Problem'] {
  if (typeof body !== 'object' || body === null) return false
  const { code, detail, instance } = body as Record<string, unknown>
  return typeof code === 'string' && typeof detail === 'string' && typeof instance === 'string'
}

/** `Retry-After` is a number of seconds, or a date. */
function secondsOf(text: string): number {
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000
  return Number.isNaN(seconds) ? 0 : Math.max(0, seconds)
}

function newKey(): string {
  // Pages without https have no `randomUUID`.
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

function pause(seconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end)
      resolve()
    }, timerTime(seconds))
    if (signal?.aborted) end()
    else signal?.addEventListener('abort', end, { once: true })
  })
}

/** In milliseconds; a timer that should run for longer would end at once. */
function timerTime(seconds: number): number {
  return Math.min(seconds * 1000, 2 ** 31 - 1)
}
