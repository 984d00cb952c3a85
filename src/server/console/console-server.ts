/**
 * The console's port: its files, and beside them those routes of the public port that its pages ask. Both ports hand
 * these requests to the same stages, so the gate, the limits and the decision log see no difference, and a browser needs
 * no CORS.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { createHttpServer, type ServerTimeouts } from '../http/http-server.ts'
import { findMalformed } from '../stages/match.ts'
import type { ConsoleFile, ConsoleFiles } from './console-files.ts'

/** Everything else of the API stays where it is. */
const ASKED = /^\/(?:policy\/v1\/|api\/tokens(?:[/?]|$))/

/** No script but that of the files runs, and nothing makes one of a text (test/console/hostile.test.ts). */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': CONTENT_SECURITY_POLICY,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
}

/** `stages`: the request handler of the public port. */
export function createConsoleServer(files: ConsoleFiles, stages: RequestListener, timeouts?: ServerTimeouts): Server {
  return createHttpServer((request, response) => {
    // The stages have the answers to malformed requests.
    if (ASKED.test(request.url ?? '') || findMalformed(request)) stages(request, response)
    else answer(files, request, response)
  }, timeouts)
}

function answer(files: ConsoleFiles, request: IncomingMessage, response: ServerResponse): void {
  const [path = ''] = (request.url ?? '').split('?')
  const file = files.get(path)
  if (!file) refuse(response, 404, 'The console has no such page; open /')
  else if (request.method === 'GET' || request.method === 'HEAD') send(file, request, response)
  else refuse(response, 405, 'The console does not accept the method; use GET or HEAD', { Allow: 'GET, HEAD' })
}

function send(
  { contentType, isKept, bytes, gzipped }: ConsoleFile,
  request: IncomingMessage,
  response: ServerResponse,
) {
  const isZipped = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))
  const body = isZipped ? gzipped : bytes
  response.writeHead(200, {
    ...HEADERS,
    'Content-Type': contentType,
    'Content-Length': body.length,
    'Cache-Control': isKept ? 'public, max-age=31536000, immutable' : 'no-cache',
    Vary: 'Accept-Encoding',
    ...(isZipped && { 'Content-Encoding': 'gzip' }),
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}

function refuse(response: ServerResponse, status: number, sentence: string, more: Record<string, string> = {}): void {
  response.writeHead(status, {
    ...HEADERS,
    ...more,
    'Content-Type': 'text/plain; charset=utf-8',
    'Cache-Control': 'no-store',
  })
  response.end(`${sentence}\n`)
}
