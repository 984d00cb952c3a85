/** Node's HTTP module; makes a server listen, and closes it. */
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type ListeningPlace, portFault } from '../../config/start/start-faults.ts'

/** Resolves with the server's URL. Throws ConfigError. */
export async function listen(
  server: Server,
  host: string,
  { name, port }: Omit<ListeningPlace, 'host'>,
): Promise<string> {
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (error) {
    throw await portFault({ name, port, host }, error as NodeJS.ErrnoException)
  }
  // A connection that can't be accepted only affects its client; without a listener the error would end the process.
  server.on('error', () => undefined)
  const { address, port: bound, family } = server.address() as AddressInfo
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`
}

/** Resolves when the requests in flight have ended. */
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

/**
 * Node's HTTP module. An import reads every export, and one of them (WebSocket) loads Node's whole fetch library, which
 * takes a tenth of the start time.
 */
export const http = process.getBuiltinModule('node:http')
