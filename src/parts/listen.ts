/** Servers that listen and that close: for clients, and for the operator's metrics. */
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ConfigError } from '../config.ts'
import type { Metrics } from '../request/metrics.ts'
import { http } from '../request/node-http.ts'

/** The server's URL. Throws ConfigError. */
export async function listen(
  server: Server,
  host: string,
  { name, port }: { readonly name: string; readonly port: number },
): Promise<string> {
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (error) {
    throw new ConfigError(`${name} ${port} of ${host} can't be listened on (${(error as NodeJS.ErrnoException).code})`)
  }
  const { address, port: bound, family } = server.address() as AddressInfo
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`
}

export function createAdminServer(metrics: Pick<Metrics, 'text' | 'contentType'>): Server {
  return http.createServer(async (request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') {
      response.writeHead(404).end()
      return
    }
    try {
      const text = await metrics.text()
      response.writeHead(200, { 'Content-Type': metrics.contentType }).end(text)
    } catch {
      // A worker is too busy to answer, or ended while it was asked: the next scrape has them all.
      response
        .writeHead(503, { 'Content-Type': 'text/plain' })
        .end('not every process has told its metrics; ask again\n')
    }
  })
}

/** Once the requests in flight have ended. */
export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeIdleConnections()
  })
}

export function after(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds).unref()
  })
}
