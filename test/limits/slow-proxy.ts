/** A TCP proxy before Redis whose answers take as long as a test wants. */
import { connect, createServer, type Socket } from 'node:net'

export interface SlowProxy {
  readonly url: string
  /** Milliseconds by which answers from now on are late. */
  delay(milliseconds: number): void
  close(): Promise<void>
}

export async function startSlowProxy(targetPort: number): Promise<SlowProxy> {
  let late = 0
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const redis = connect(targetPort, '127.0.0.1')
    for (const socket of [client, redis]) sockets.add(socket.on('error', () => {}))
    client.on('data', (chunk) => redis.write(chunk)).on('close', () => redis.destroy())
    redis.on('close', () => client.destroy())
    redis.on('data', (chunk) => {
      if (late === 0) client.write(chunk)
      else setTimeout(() => client.write(chunk), late).unref()
    })
  })
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : 0)
    })
  })
  return {
    url: `redis://127.0.0.1:${port}`,
    delay: (milliseconds) => {
      late = milliseconds
    },
    close: () => {
      for (const socket of sockets) socket.destroy()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}
