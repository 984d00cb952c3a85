/** A TCP proxy whose connections tests can stall, delay, cut, or keep answers back from. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

export interface TcpProxy {
  readonly port: number
  /** Passes nothing on, in either direction, until `resume`; clients can still connect. */
  stall(): void
  /** Passes on what clients send, and no answer, until `resume`. */
  holdAnswers(): void
  resume(): void
  /** What either side sends arrives so much later, until the delay is 0 again. */
  delay(milliseconds: number): void
  /** Ends all connections, as a network that fails. */
  cut(): void
  close(): Promise<void>
}

export async function startTcpProxy(target: number): Promise<TcpProxy> {
  const pairs = new Set<readonly [Socket, Socket]>()
  let delayMs = 0
  let held: 'nothing' | 'answers' | 'everything' = 'nothing'
  const apply = ([client, server]: readonly [Socket, Socket]) => {
    if (held === 'everything') client.pause()
    else client.resume()
    if (held === 'nothing') server.resume()
    else server.pause()
  }
  const change = (to: typeof held) => () => {
    held = to
    for (const pair of pairs) apply(pair)
  }
  const listener = createServer((client) => {
    const server = connect(target, '127.0.0.1')
    const pair = [client, server] as const
    pairs.add(pair)
    /** What was sent first arrives first, also when the delay changes. */
    const passOn = (to: Socket) => {
      const waiting: Buffer[] = []
      return (chunk: Buffer) => {
        if (delayMs === 0 && waiting.length === 0) to.write(chunk)
        else {
          waiting.push(chunk)
          setTimeout(() => to.write(waiting.shift() ?? ''), delayMs)
        }
      }
    }
    client.on('data', passOn(server))
    server.on('data', passOn(client))
    for (const socket of pair) {
      socket.on('error', () => undefined)
      socket.on('close', () => {
        pairs.delete(pair)
        for (const one of pair) one.destroy()
      })
    }
    apply(pair)
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const cut = () => {
    for (const pair of pairs) for (const socket of pair) socket.destroy()
  }
  return {
    port: (listener.address() as { port: number }).port,
    stall: change('everything'),
    holdAnswers: change('answers'),
    resume: change('nothing'),
    delay: (milliseconds) => {
      delayMs = milliseconds
    },
    cut,
    close: async () => {
      cut()
      listener.close()
      await once(listener, 'close')
    },
  }
}
