/** Requests that come to a server of this process through memory, so that nothing but the server is measured. */
import http, { type Server } from 'node:http'
import { Duplex } from 'node:stream'
import { quantile } from '../report/statistics.ts'

const CONNECTIONS = 16

/** The server that is made meanwhile. */
export async function serverOf(start: () => Promise<unknown>): Promise<Server> {
  const created: Server[] = []
  const create = http.createServer
  Object.assign(http, { createServer: (...args: never[]) => created[created.push(create(...args)) - 1] })
  await start()
  Object.assign(http, { createServer: create })
  const [server] = created
  if (!server) throw new Error('no server was made')
  return server
}

/** Asks each of these in turn. Microseconds of CPU of this thread for a request. */
export async function askInMemory(server: Server, requests: readonly string[], count: number): Promise<number> {
  // New ones each time: the server closes connections that are silent for long.
  const wires = Array.from({ length: CONNECTIONS }, () => new Wire())
  for (const wire of wires) server.emit('connection', wire)
  const each = Math.ceil(count / CONNECTIONS)
  const askInTurn = async (wire: Wire, n: number) => {
    for (let i = n; i < each * CONNECTIONS; i += CONNECTIONS) await wire.ask(requests[i % requests.length] ?? '')
  }
  const before = process.threadCpuUsage()
  await Promise.all(wires.map(askInTurn))
  const { user, system } = process.threadCpuUsage(before)
  for (const wire of wires) wire.destroy()
  return (user + system) / (each * CONNECTIONS)
}

/** The median, and the quartiles. */
export function printQuantiles(what: string, sample: readonly number[]): void {
  const [middle, low, high] = [0.5, 0.25, 0.75].map((share) => quantile(sample, share).toFixed(3))
  process.stdout.write(`${what.padEnd(28)} ${middle} (${low} - ${high})\n`)
}

/** A connection in memory, with the members of a socket that the server uses. */
class Wire extends Duplex {
  readonly remoteAddress = '127.0.0.1'
  #answer = ''
  #answered: () => void = () => {}
  #failed: (error: Error) => void = () => {}

  ask(request: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#answered = resolve
      this.#failed = reject
      this.push(request)
    })
  }

  setTimeout(): this {
    return this
  }

  setNoDelay(): this {
    return this
  }

  override _read(): void {}

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.#answer += chunk.toString('latin1')
    const [head = '', body] = this.#answer.split('\r\n\r\n')
    if (body !== undefined && body.length >= Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)) {
      if (/^HTTP\/1\.1 20[014] /.test(head)) setImmediate(this.#answered)
      else this.#failed(new Error(`${head}\n${body}`))
      this.#answer = ''
    }
    done()
  }
}
