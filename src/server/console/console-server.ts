/**
 * The console's port: its files, and beside them those routes of the public port that its pages ask. Both ports hand
 * these requests to the same stages, so the gate, the limits and the decision log see no difference, and a browser needs
 * no CORS.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import type { ConsoleOpenId } from '../../config/console-place.ts'
import { createHttpServer, type ServerTimeouts } from '../http/http-server.ts'
import { findMalformed } from '../stages/match.ts'
import type { ConsoleFile, ConsoleFiles } from './console-files.ts'

/** Everything else of the API stays where it is. */
const ASKED = /^\/(?:policy\/v1\/|api\/tokens(?:[/?]|$))/

/** No script but that of the files runs, and nothing makes one of a text (test/console/hostile.test.ts). */
function contentSecurityPolicy(openId: ConsoleOpenId | undefined): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    openId ? `connect-src 'self' ${new URL(openId.issuer).origin}` : "connect-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')
}

const HEADERS: Readonly<Record<string, string>> = {
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
}

/** How people sign in: by a password of this server, at an OpenID provider, or both. */
interface WaysToSignIn {
  readonly password: boolean
  readonly openId: ConsoleOpenId | undefined
}

interface ConsoleSources {
  readonly files: ConsoleFiles
  readonly signIn: WaysToSignIn
  /** The request handler of the public port. */
  readonly stages: RequestListener
  readonly timeouts?: ServerTimeouts | undefined
}

export function createConsoleServer({ files, signIn, stages, timeouts }: ConsoleSources): Server {
  const headers = { ...HEADERS, 'Content-Security-Policy': contentSecurityPolicy(signIn.openId) }
  const all = new Map([...files, ['/sign-in.json', signInFile(signIn)]])
  return createHttpServer((request, response) => {
    // The stages have the answers to malformed requests.
    if (ASKED.test(request.url ?? '') || findMalformed(request)) stages(request, response)
    else answer(all, headers, request, response)
  }, timeouts)
}

function signInFile(signIn: WaysToSignIn): ConsoleFile {
  const bytes = Buffer.from(JSON.stringify(signIn))
  return { contentType: 'application/json', isKept: false, bytes, gzipped: gzipSync(bytes) }
}

type HeaderTexts = Readonly<Record<string, string>>

function answer(files: ConsoleFiles, headers: HeaderTexts, request: IncomingMessage, response: ServerResponse): void {
  const [path = ''] = (request.url ?? '').split('?')
  const file = files.get(path)
  const refuse = (status: number, sentence: string, more: HeaderTexts = {}) => {
    const type = { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' }
    response.writeHead(status, { ...headers, ...more, ...type })
    response.end(`${sentence}\n`)
  }
  if (!file) refuse(404, 'The console has no such page; open /')
  else if (request.method === 'GET' || request.method === 'HEAD') send(file, headers, request, response)
  else refuse(405, 'The console does not accept the method; use GET or HEAD', { Allow: 'GET, HEAD' })
}

function send(
  { contentType, isKept, bytes, gzipped }: ConsoleFile,
  headers: HeaderTexts,
  request: IncomingMessage,
  response: ServerResponse,
) {
  const isZipped = accepts(String(request.headers['accept-encoding'] ?? ''))
  const body = isZipped ? gzipped : bytes
  response.writeHead(200, {
    ...headers,
    'Content-Type': contentType,
    'Content-Length': body.length,
    'Cache-Control': isKept ? 'public, max-age=31536000, immutable' : 'no-cache',
    Vary: 'Accept-Encoding',
    ...(isZipped && { 'Content-Encoding': 'gzip' }),
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}

/** Whether gzip may be sent (RFC 9110 section 12.5.3): `gzip;q=0` refuses it. */
function accepts(encodings: string): boolean {
  return encodings.split(',').some((one) => /^\s*(?:x-)?gzip\s*(?:;\s*q\s*=\s*(?!0(?:\.0*)?\s*$)|$)/i.test(one))
}
