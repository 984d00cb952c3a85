/**
 * Node's HTTP server, with bounds of time and size. The requests of a connection are answered one after another. A
 * request that Node's parser or a time-out refuses is answered by the stages too: the first one that checks for its
 * problem throws it, so that it gets a record, metrics and a problem document like any other refusal.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type Koa from 'koa'
import compose from 'koa-compose'
import { Problem } from '../../base/problems/problem.ts'
import { http } from './listen.ts'

export interface ServerTimeouts {
  /** Milliseconds until all headers must have arrived. */
  readonly headersMs: number
  /** Milliseconds until the whole request must have arrived. */
  readonly requestMs: number
  /**
   * Milliseconds that an idle connection stays open: longer than the 60 s of proxies and load balancers. One that lent a
   * connection to a request at the moment when the server closed it would answer 502.
   */
  readonly keepAliveMs: number
  /**
   * Milliseconds that a client may read nothing of an answer: more than `requestMs`, because this time-out also applies
   * to silent requests.
   */
  readonly answerMs: number
}

const TIMEOUTS: ServerTimeouts = { headersMs: 10_000, requestMs: 30_000, keepAliveMs: 65_000, answerMs: 60_000 }

const MAX_HEADER_BYTES = 16_384

type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void

type ClientError = NodeJS.ErrnoException & { readonly rawPacket?: Buffer; readonly bytesParsed?: number }

export function createHttpServer(handler: RequestHandler, timeouts: ServerTimeouts = TIMEOUTS): Server {
  const server = http.createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    keepAliveTimeout: timeouts.keepAliveMs,
    connectionsCheckingInterval: Math.min(1000, timeouts.headersMs),
    // `findMalformed` (stages/match.ts) answers a missing Host, with a problem document.
    requireHostHeader: false,
    noDelay: true,
  })
  // Node silently ignores headers beyond this count; 0 turns that off, and `findMalformed` counts them.
  server.maxHeadersCount = 0
  // Otherwise a client that never reads would keep its waiting requests in memory for ever.
  server.timeout = timeouts.answerMs
  const serve = oneAfterAnother(handler)
  const serveLast = oneAfterAnother(closingAfter(handler))
  server.on('connection', openConnection)
  server.on('request', serve)
  // Without a listener Node asks for the body at once, before anybody is authorized (RFC 9110 section 10.1.1).
  server.on('checkContinue', serve)
  server.on('checkExpectation', serve)
  server.on('connect', (request, socket) => {
    // Node has taken its own listeners off: without this one, a client that resets the connection ends the process.
    socket.on('error', () => socket.destroy())
    serveLast(request, new http.ServerResponse(request))
  })
  server.on('clientError', (error: ClientError, socket) => {
    const response = connectionOf(socket).inFlight
    if (error.code === 'ECONNRESET' || !socket.writable || saidNothing(socket)) socket.destroy()
    else if (response) interruptBehind(response, problemOf(error, socket))
    else refuse(serveLast, problemOf(error, socket), socket as Socket)
  })
  return server
}

function oneAfterAnother(handler: RequestHandler): RequestHandler {
  return (request, response) => {
    // The answer may be sent before the whole body was read; the rest is discarded.
    if (hasBody(request)) response.once('close', () => request.resume())
    // No upgrade is offered, so the request is answered as if it had not asked (RFC 9110 section 7.8). Node's parser
    // drops the bytes after it in the same packet, so further requests can't be recognized any more.
    if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false
    connectionOf(request.socket).take(request, response, handler)
  }
}

/** The handler answers a request that has arrived; broken bytes after it can't be answered any more. */
function interruptBehind(response: ServerResponse, problem: Problem): void {
  response.shouldKeepAlive = false
  if (!response.req.complete) interrupt(response.req, problem)
}

function refuse(serveLast: RequestHandler, problem: Problem, socket: Socket): void {
  const request = new http.IncomingMessage(socket)
  request.method = ''
  interrupt(request, problem)
  serveLast(request, new http.ServerResponse(request))
}

/** Answers a request for which Node has created no response: the last one of its connection. */
function closingAfter(handler: RequestHandler): RequestHandler {
  return (request, response) => {
    const { socket } = request
    response.shouldKeepAlive = false
    response.assignSocket(socket)
    response.once('finish', () => {
      response.detachSocket(socket)
      socket.destroySoon()
    })
    handler(request, response)
  }
}

/** The problem of a request that the parser or a time-out refused. */
function problemOf(error: ClientError, socket: Duplex): Problem {
  const headers = { Connection: 'close' }
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return isInRequestLine(error, socket)
        ? new Problem('url-too-long', 'The URL is too long; shorten it.', { headers })
        : new Problem('headers-too-large', `The headers are too large; send at most ${MAX_HEADER_BYTES} bytes.`, {
            headers,
          })
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Problem('request-timeout', 'The request did not arrive in time; send it faster.', { headers })
    default:
      return new Problem('malformed-request', 'The request is not well-formed HTTP/1.1; correct its syntax.', {
        headers,
      })
  }
}

/** The last packet shows it: no line ends in the packet, and it was the first one, or has a space after the URL. */
function isInRequestLine({ rawPacket, bytesParsed = 0 }: ClientError, socket: Duplex): boolean {
  if (!rawPacket || rawPacket.subarray(0, bytesParsed).includes('\n')) return false
  return bytesRead(socket) === rawPacket.length || rawPacket.toString('latin1', bytesParsed, bytesParsed + 1) === ' '
}

/** A connection that was only opened has sent no request, so there is nothing to answer. */
function saidNothing(socket: Duplex): boolean {
  return bytesRead(socket) === 0
}

function bytesRead(socket: Duplex): number {
  return (socket as Socket).bytesRead
}

export function runStages(koa: Koa): RequestListener {
  const run = compose(koa.middleware)
  return (request, response) => {
    const ctx = koa.createContext(request, response)
    run(ctx).catch((error: unknown) => ctx.onerror(error as Error))
  }
}

/** Milliseconds of silence after which a connection that was closed on one side is closed on the other. */
const LINGER_MS = 1000

/**
 * A packet can hold thousands of requests. This many may wait on each connection; further ones share the room of all
 * connections.
 */
const WAITING_EACH = 16
const WAITING_TOGETHER = 3000

const connections = new WeakMap<Duplex, ClientConnection>()

/** Must be called before anything is read from the connection. */
function openConnection(socket: Socket): void {
  connections.set(socket, new ClientConnection(socket))
}

function connectionOf(socket: Duplex): ClientConnection {
  const connection = connections.get(socket)
  if (!connection) throw new Error('the connection of a request was not registered')
  return connection
}

class ClientConnection {
  /** On all connections. */
  static #waitingTogether = 0

  readonly #socket: Socket
  #last: ServerResponse | undefined
  #waiting = 0

  constructor(socket: Socket) {
    this.#socket = socket
    const resume = socket.resume.bind(socket)
    // Node resumes reading after each answer; while a request waits, the socket must stay paused.
    socket.resume = () => (this.#waiting > 0 ? socket : resume())
    socket.destroySoon = () => this.#closeInTwoSteps()
    socket.once('close', () => this.#count(-this.#waiting))
  }

  /** The response to the request that came last; undefined when it has ended. */
  get inFlight(): ServerResponse | undefined {
    return this.#last?.closed ? undefined : this.#last
  }

  /**
   * RFC 9112 section 9.3.2: only safe requests of one connection may overlap; this server overlaps no requests. While
   * one waits, no more are read: otherwise a client that sends faster than it reads answers would fill the memory.
   * After an answer with `Connection: close` no request starts.
   */
  take(request: IncomingMessage, response: ServerResponse, handler: RequestHandler): void {
    // The rest of a packet still comes after the connection was cut off: nothing of it may be kept.
    if (this.#socket.destroyed) return
    const before = this.inFlight
    this.#last = response
    if (!before) {
      if (this.#socket.writable) handler(request, response)
      return
    }
    this.#count(1)
    this.#socket.pause()
    if (this.#waiting > WAITING_EACH && ClientConnection.#waitingTogether > WAITING_TOGETHER) this.#socket.destroy()
    before.once('close', () => {
      if (!this.#socket.writable) return
      this.#count(-1)
      if (this.#waiting === 0) this.#socket.resume()
      handler(request, response)
    })
  }

  #count(more: number): void {
    this.#waiting += more
    ClientConnection.#waitingTogether += more
  }

  /**
   * RFC 9112 section 9.6: closing both ways at once resets the connection of a client that is still sending, and the
   * answer is lost with it. So its body is read to the end and discarded; the request time-out bounds this.
   */
  #closeInTwoSteps(): void {
    this.#socket.end()
    this.#socket.setTimeout(LINGER_MS, () => this.#socket.destroy())
  }
}

interface Interruption extends PromiseWithResolvers<never> {
  reason?: Problem
}

// No AbortController: one for each request with a body costs more than to read the body.
const interruptions = new WeakMap<IncomingMessage, Interruption>()

/** The rest of the request will never come, for this reason. */
function interrupt(request: IncomingMessage, problem: Problem): void {
  const interruption = interruptionFor(request)
  interruption.reason ??= problem
  interruption.reject(problem)
}

/** Why the request was interrupted; undefined when it wasn't (yet). */
export function interruptionOf(request: IncomingMessage): Problem | undefined {
  return interruptions.get(request)?.reason
}

/** Its promise rejects when the request is interrupted, and otherwise never settles. */
export function interruptionFor(request: IncomingMessage): Interruption {
  const known = interruptions.get(request)
  if (known) return known
  const interruption: Interruption = Promise.withResolvers<never>()
  // Perhaps nobody waits for it.
  interruption.promise.catch(() => undefined)
  interruptions.set(request, interruption)
  return interruption
}

const signals = new WeakMap<ServerResponse, AbortSignal>()

/**
 * Aborts when the connection closes before the answer has ended; its reason is the Problem of such a request. Made when
 * it is first asked for, because most requests end before they would ask.
 */
export function clientGone(response: ServerResponse): AbortSignal {
  return signals.getOrInsertComputed(response, () => {
    const controller = new AbortController()
    const leave = () => {
      if (!response.writableEnded) controller.abort(gone())
    }
    // A large answer has listeners of its own, and all together are more than Node's ten.
    response.setMaxListeners(20)
    if (response.closed || response.destroyed) leave()
    else response.once('close', leave)
    return controller.signal
  })
}

/** Only the decision record shows it: nobody is there to read an answer. */
function gone(): Problem {
  return new Problem('malformed-request', 'The connection closed before the answer; send the request again.')
}

/** Whether the request says that it has a body (RFC 9112 section 6.3). */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}
