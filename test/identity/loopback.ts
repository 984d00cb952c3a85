/** An HTTP server on this machine that counts who comes, and answers as it is told. */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mock } from 'node:test'

export class Loopback {
  readonly url: string
  /** As an OpenID provider calls itself. */
  readonly origin: string
  readonly port: number
  connections = 0
  requests = 0
  answer: RequestListener
  readonly #close: () => Promise<void>

  private constructor(port: number, answer: RequestListener, close: () => Promise<void>) {
    this.port = port
    this.origin = `http://127.0.0.1:${port}`
    this.url = `${this.origin}/keys`
    this.answer = answer
    this.#close = close
  }

  /** On a free port, or on one that was in use before. */
  static async start(answer: RequestListener, port = 0): Promise<Loopback> {
    const server = createServer((request, response) => {
      loopback.requests++
      loopback.answer(request, response)
    })
    server.on('connection', () => loopback.connections++)
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    const close = async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    }
    const loopback = new Loopback((server.address() as AddressInfo).port, answer, close)
    return loopback
  }

  stop(): Promise<void> {
    return this.#close()
  }
}

/** Time passes, as far as the age of keys and of faults is concerned; `mock.timers.reset()` brings it back. */
export function elapse(seconds: number): void {
  const then = Date.now() + seconds * 1000
  mock.timers.reset()
  mock.timers.enable({ apis: ['Date'], now: then })
}

/** A key set as a key server sends it. */
export function keySet(...keys: readonly unknown[]): RequestListener {
  return text(JSON.stringify({ keys }))
}

export function text(body: string, status = 200, headers: Readonly<Record<string, string>> = {}): RequestListener {
  return (_request, response) => response.writeHead(status, headers).end(body)
}

/** An OpenID provider whose keys are those of `keys`; `changes` to its discovery document. */
export function provider(
  { origin, url }: Loopback,
  keys: RequestListener,
  changes: Readonly<Record<string, unknown>> = {},
): RequestListener {
  const document = text(JSON.stringify({ issuer: origin, jwks_uri: url, ...changes }))
  return (request, response) =>
    (request.url === '/.well-known/openid-configuration' ? document : keys)(request, response)
}
