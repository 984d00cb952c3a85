/** The HTTP server: limits on time and size. What Node's parser refuses by itself goes to the handler like any request. */
import { createServer, IncomingMessage, type Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Problem } from '../problems/problem.ts'
import { interrupt } from './interruption.ts'

export interface ServerTimeouts {
  /** Milliseconds until all headers must have arrived. */
  readonly headersMs: number
  /** Milliseconds until the whole request must have arrived. */
  readonly requestMs: number
  /** Milliseconds that an idle connection stays open. */
  readonly keepAliveMs: number
}

export const TIMEOUTS: ServerTimeouts = { headersMs: 10_000, requestMs: 30_000, keepAliveMs: 5_000 }

const MAX_HEADER_BYTES = 16_384

/** Milliseconds of silence after which a connection that was closed on one side is closed on the other. */
const LINGER_MS = 1000

type Handler = (request: IncomingMessage, response: ServerResponse) => void

type ClientError = NodeJS.ErrnoException & { readonly rawPacket?: Buffer; readonly bytesParsed?: number }

export function createHttpServer(handler: Handler, timeouts: ServerTimeouts = TIMEOUTS): Server {
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    keepAliveTimeout: timeouts.keepAliveMs,
    connectionsCheckingInterval: Math.min(1000, timeouts.headersMs),
    // refuse-malformed.ts answers a missing Host, with a problem document.
    requireHostHeader: false,
    noDelay: true,
  })
  // Node passes over headers beyond this count in silence; 0 lets refuse-malformed.ts count them.
  server.maxHeadersCount = 0
  const inFlight = new WeakMap<Socket, ServerResponse>()
  const serve: Handler = (request, response) => {
    inFlight.set(request.socket, response)
    response.once('close', () => {
      if (inFlight.get(request.socket) === response) inFlight.delete(request.socket)
    })
    handler(request, response)
  }
  server.on('connection', closeInTwoSteps)
  server.on('request', serve)
  // Without a listener Node asks for the body at once, before anybody is authorized (RFC 9110 section 10.1.1).
  server.on('checkContinue', serve)
  server.on('checkExpectation', serve)
  server.on('connect', (request, socket: Socket) => {
    // Node has taken its own listeners off; a client that resets the connection must not end the process.
    socket.on('error', () => socket.destroy())
    socket.resume()
    answerOnce(handler, request)
  })
  server.on('clientError', (error: ClientError, socket: Socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable || socket.bytesRead === 0) socket.destroy()
    else refuse(error, socket, inFlight.get(socket))
  })
  return server

  function refuse(error: ClientError, socket: Socket, response: ServerResponse | undefined): void {
    const problem = problemOf(error)
    if (response) {
      // The answer to this request is the handler's; to one behind it there can be none.
      response.shouldKeepAlive = false
      if (!response.req.complete) interrupt(response.req, problem)
      return
    }
    const request = new IncomingMessage(socket)
    interrupt(request, problem)
    answerOnce(handler, request)
  }
}

/** Answers a request that Node has made no response for, and closes the connection. */
function answerOnce(handler: Handler, request: IncomingMessage): void {
  const { socket } = request
  const response = new ServerResponse(request)
  response.shouldKeepAlive = false
  response.assignSocket(socket)
  response.once('finish', () => {
    response.detachSocket(socket)
    socket.destroySoon()
  })
  handler(request, response)
}

/**
 * RFC 9112 section 9.6: closing both ways at once resets the connection of a client that is still sending, and the answer
 * is lost with it. So what it sends is read, unheeded, until it is done; the request time-out bounds it.
 */
function closeInTwoSteps(socket: Socket): void {
  socket.destroySoon = () => {
    socket.end()
    socket.setTimeout(LINGER_MS, () => socket.destroy())
  }
}

/** What the parser or a time-out refused. */
function problemOf(error: ClientError): Problem {
  const headers = { Connection: 'close' }
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return isRequestLine(error)
        ? new Problem('url-too-long', 'The URL is too long.', { headers })
        : new Problem('headers-too-large', `Headers have at most ${MAX_HEADER_BYTES} bytes.`, { headers })
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Problem('request-timeout', 'The request did not arrive in time.', { headers })
    default:
      return new Problem('malformed-request', 'The request is not well-formed HTTP/1.1.', { headers })
  }
}
