export interface EventOptions extends CallOptions {
  /** The `id` of the last event that your program has dealt with: what came after it is next. */
  readonly after?: string | undefined
  /** In seconds: a connection on which nothing comes for so long is lost (45). The server sends something every 15. */
  readonly longestSilence?: number | undefined
  /** In characters: a longer event is an error (4,000,000). */
  readonly longestEvent?: number | undefined
  /**
   * Called when a connection is lost, before the next one. `error` is undefined where the server has ended it. An error
   * that it throws ends the events.
   */
  readonly onLost?: ((error: unknown) => void) | undefined
}

/** Other events than these are of a later version of the server. */
const KINDS: ReadonlySet<string> = new Set(['appeared', 'changed', 'gone', 'reset'])

const EVENT_STREAM = /^text\/event-stream\s*(?:;|$)/i

/** In seconds: `longest` unless the server wants more. */
const PAUSES = { first: 0.5, longest: 15, leastWanted: 0.1, mostWanted: 300 }

/** In seconds: a connection that was open for so long was not in vain. */
const LASTING = 10

const ENOUGH = new Error('no more events are wanted')

/** Events of one connection after the other, until the program stops. */
export function follow<Told>(
  http: Connection,
  path: string,
  query: Query,
  options: EventOptions,
): AsyncGenerator<Told, void, undefined> {
  const stop = new AbortController()
  const events = new Following<Told>(http, withQuery(path, query), options, stop).events()
  const end = events.return.bind(events)
  // A generator alone would end after the event that it waits for.
  events.return = (value) => {
    stop.abort(ENOUGH)
    return end(value)
  }
  return events
}

/** How far a program has got. */
class Following<Told> {
  readonly #http: Connection
  readonly #path: string
  readonly #options: EventOptions
  readonly #stop: AbortController
  #lastId: string
  #hasOpened = false
  #inVain = 0
  /** In seconds. */
  #pause = PAUSES.first

  constructor(http: Connection, path: string, options: EventOptions, stop: AbortController) {
    this.#http = http
    this.#path = path
    this.#options = options
    this.#stop = stop
    this.#lastId = options.after ?? ''
    if (!isSendable(this.#lastId)) throw new TypeError('`after` is no id of an event: give the `id` that an event had')
  }

  async *events(): AsyncGenerator<Told, void, undefined> {
    const { signal, onLost } = this.#options
    const abort = () => this.#stop.abort(signal?.reason)
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort, { once: true })
    try {
      for (;;) {
        const begun = performance.now()
        const lost = yield* this.#untilLost()
        if (performance.now() - begun >= LASTING * 1000) this.#inVain = 0
        onLost?.(lost instanceof Lost ? lost.cause : lost)
        await pause(Math.max(waitAfter(lost), this.#nextPause()), this.#stop.signal)
      }
    } catch (error) {
      if (this.#stop.signal.reason !== ENOUGH) throw error
    } finally {
      signal?.removeEventListener('abort', abort)
    }
  }

  /** Why it was lost. Throws what another connection wouldn't help against. */
  async *#untilLost(): AsyncGenerator<Told, unknown, undefined> {
    try {
      yield* this.#connection()
      return undefined
    } catch (error) {
      const mayGoOn =
        error instanceof ApiProblem
          ? mayHelp(error, true) && waitAfter(error) <= this.#http.longestWait
          : error instanceof Lost
      if (mayGoOn && this.#hasOpened) return error
      throw error instanceof Lost ? error.cause : error
    }
  }

  async *#connection(): AsyncGenerator<Told, void, undefined> {
    const headers = {
      Accept: 'text/event-stream',
      ...(this.#lastId !== '' && { 'Last-Event-ID': inUtf8(this.#lastId) }),
    }
    const { line, response, reader } = await this.#http.open(
      this.#path,
      headers,
      this.#stop.signal,
      (request, attempt) => this.#opened(request, attempt),
    )
    this.#hasOpened = true
    const parser = new EventParser(this.#lastId, this.#options.longestEvent ?? 4_000_000)
    try {
      for await (const piece of piecesOf(reader, line)) {
        yield* told<Told>(parser.read(piece))
        if (isSendable(parser.lastId)) this.#lastId = parser.lastId
      }
    } catch (error) {
      throw error instanceof RangeError || error instanceof SyntaxError
        ? new ApiProblem(response, undefined, 1, `The stream of events can't be read: ${error.message}.`)
        : error
    } finally {
      this.#pause = parser.retry ?? this.#pause
      line.end()
      reader.cancel().catch(() => undefined)
    }
  }

  async #opened(request: Prepared, attempt: number) {
    const line = new Line(this.#stop.signal, this.#options.longestSilence ?? 45)
    try {
      const response = await line.wait(this.#http.fetch(request, line.signal))
      if (!response.ok) await line.wait(answered(response, attempt))
      if (response.body && EVENT_STREAM.test(response.headers.get('Content-Type') ?? ''))
        return { line, response, reader: response.body.getReader() }
      throw new ApiProblem(response, undefined, attempt, 'The answer is no stream of events.')
    } catch (error) {
      line.end()
      throw error
    }
  }

  /** Longer each time in a row, and another time for each client. */
  #nextPause(): number {
    const wanted = Math.min(Math.max(this.#pause, PAUSES.leastWanted), PAUSES.mostWanted)
    const grown = Math.min(wanted * 2 ** this.#inVain++, Math.max(wanted, PAUSES.longest))
    return grown * (1 + Math.random())
  }
}

/** Its cause is why a connection broke. */
class Lost extends Error {}

/** A connection, which is lost when nothing comes in time. */
class Line {
  readonly #control = new AbortController()
  readonly #stop: AbortSignal
  readonly #seconds: number
  readonly #stopped = () => this.#control.abort(this.#stop.reason)

  constructor(stop: AbortSignal, seconds: number) {
    this.#stop = stop
    this.#seconds = seconds
    stop.addEventListener('abort', this.#stopped, { once: true })
  }

  get signal(): AbortSignal {
    return this.#control.signal
  }

  /** Throws Lost, or the reason why the program stops. */
  wait<T>(work: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const { signal } = this
      const silence = new Error(`nothing came for ${this.#seconds} seconds`)
      const timer = setTimeout(() => this.#control.abort(silence), timerTime(this.#seconds))
      const settled =
        <V>(settle: (value: V) => void) =>
        (value: V) => {
          clearTimeout(timer)
          signal.removeEventListener('abort', ended)
          settle(value)
        }
      const lose = settled((error: unknown) =>
        reject(
          this.#stop.aborted ? this.#stop.reason : error instanceof ApiProblem ? error : new Lost('', { cause: error }),
        ),
      )
      const ended = () => lose(signal.reason)
      signal.addEventListener('abort', ended)
      work.then(settled(resolve), lose)
    })
  }

  end(): void {
    this.#stop.removeEventListener('abort', this.#stopped)
    this.#control.abort(ENOUGH)
  }
}

/** A piece is read when the events before it are used up: so a slow program slows the server down. */
async function* piecesOf(reader: ReadableStreamDefaultReader<Uint8Array>, line: Line): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  for (;;) {
    const { done, value } = await line.wait(reader.read())
    if (done) return
    yield decoder.decode(value, { stream: true })
  }
}

function* told<Told>(events: Iterable<StreamedEvent>): Generator<Told> {
  for (const { id, kind, data } of events)
    if (KINDS.has(kind)) yield { id, event: kind, data: JSON.parse(data) } as Told
}

/** A header has no control characters. */
function isSendable(id: string): boolean {
  return /^\P{Cc}{0,1000}$/u.test(id)
}

/** A header has bytes. */
function inUtf8(text: string): string {
  return String.fromCharCode(...new TextEncoder().encode(text))
}
