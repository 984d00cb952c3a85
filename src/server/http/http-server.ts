/**
 * The HTTP server, with limits on time and size. A request that Node's parser refuses goes to the handler like any
 * other.
 */

import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type Koa from 'koa'
import compose from 'koa-compose'
import { Problem } from '../../base/problems/problem.ts'
import { hasBody } from '../input/read-body.ts'
import { connectionOf, openConnection } from './connection.ts'
import { interrupt } from './interruption.ts'
import { http } from './listen.ts'

export interface ServerTimeouts {
  /** Milliseconds until all headers must have arrived. */
  readonly headersMs: number
  /** Milliseconds until the whole request must have arrived. */
  readonly requestMs: number
  /** Milliseconds that an idle connection stays open. */
  readonly keepAliveMs: number
  /**
   * Milliseconds that a client may read nothing of an answer: more than `requestMs`, because this time-out also applies
   * to silent requests.
   */
  readonly answerMs: number
}

const TIMEOUTS: ServerTimeouts = { headersMs: 10_000, requestMs: 30_000, keepAliveMs: 5_000, answerMs: 60_000 }

const MAX_HEADER_BYTES = 16_384

type Handler = (request: IncomingMessage, response: ServerResponse) => void

type ClientError = NodeJS.ErrnoException & { readonly rawPacket?: Buffer; readonly bytesParsed?: number }

export function createHttpServer(handler: Handler, timeouts: ServerTimeouts = TIMEOUTS): Server {
  const server = http.createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    keepAliveTimeout: timeouts.keepAliveMs,
    connectionsCheckingInterval: Math.min(1000, timeouts.headersMs),
    // find-malformed.ts answers a missing Host, with a problem document.
    requireHostHeader: false,
    noDelay: true,
  })
  // Node silently ignores headers beyond this count; 0 turns that off, and find-malformed.ts counts them.
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

function oneAfterAnother(handler: Handler): Handler {
  return (request, response) => {
    // The answer may be sent before the whole body was read; the rest is discarded.
    if (hasBody(request)) response.once('close', () => request.resume())
    if (asksForUpgrade(request)) response.shouldKeepAlive = false
    connectionOf(request.socket).take(response, () => handler(request, response))
  }
}

/**
 * No upgrade is offered, so the request is answered as if it had not asked (RFC 9110 section 7.8). Node's parser drops
 * the bytes after it in the same packet, so further requests can't be recognized any more.
 */
function asksForUpgrade({ headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined
}

/** The handler answers a request that has arrived; broken bytes after it can't be answered any more. */
function interruptBehind(response: ServerResponse, problem: Problem): void {
  response.shouldKeepAlive = false
  if (!response.req.complete) interrupt(response.req, problem)
}

function refuse(serveLast: Handler, problem: Problem, socket: Socket): void {
  const request = new http.IncomingMessage(socket)
  request.method = ''
  interrupt(request, problem)
  serveLast(request, new http.ServerResponse(request))
}

/** Answers a request for which Node has created no response: the last one of its connection. */
function closingAfter(handler: Handler): Handler {
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

/** The last packet tells it: no line ends in the packet, and it was the first one, or has a space after the URL. */
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
