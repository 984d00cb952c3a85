/** One HTTP exchange over connections that are kept alive, bounded in time and size. It never follows a redirect. */
import http from 'node:http'
import https from 'node:https'
import { AuthzenError } from '../error.ts'
import type { Settings } from '../options.ts'

export interface Exchange {
  readonly method: 'GET' | 'POST'
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
}

export interface RawAnswer {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly text: string
}

/** The connection was closed by the other side while it was idle, so that nobody has read the request. */
class StaleConnection extends Error {}

const STALE: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE'])

export class Connections {
  readonly #kept: readonly [http.Agent, https.Agent]
  /** For the one retry: a new connection can't be stale. */
  readonly #fresh: readonly [http.Agent, https.Agent]
  readonly #mostAnswerBytes: number

  constructor({ tls, mostConnections, mostAnswerBytes }: Settings) {
    const agents = (keepAlive: boolean) => {
      const options = { ...tls, keepAlive, maxSockets: mostConnections, maxFreeSockets: mostConnections }
      return [new http.Agent(options), new https.Agent(options)] as const
    }
    this.#kept = agents(true)
    this.#fresh = agents(false)
    this.#mostAnswerBytes = mostAnswerBytes
  }

  /** Throws AuthzenError, or the reason of the signal. */
  async exchange(exchange: Exchange, signal: AbortSignal): Promise<RawAnswer> {
    try {
      return await this.#once(exchange, this.#kept, signal)
    } catch (error) {
      if (!(error instanceof StaleConnection)) throw error
      return this.#once(exchange, this.#fresh, signal)
    }
  }

  close(): void {
    for (const agent of [...this.#kept, ...this.#fresh]) agent.destroy()
  }

  #once(exchange: Exchange, [plain, encrypted]: readonly [http.Agent, https.Agent], signal: AbortSignal) {
    const { url, method, headers, body } = exchange
    const options = { method, headers, signal }
    return new Promise<RawAnswer>((resolve, reject) => {
      const request =
        url.protocol === 'https:'
          ? https.request(url, { ...options, agent: encrypted })
          : http.request(url, { ...options, agent: plain })
      let answered = false
      const fail = (error: Error) => reject(faultOf(error, signal, request.reusedSocket && !answered))
      request.on('error', fail)
      request.on('response', (answer) => {
        answered = true
        readText(answer, this.#mostAnswerBytes).then(
          (text) => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }),
          (error) => {
            request.destroy()
            fail(error)
          },
        )
      })
      request.end(body)
    })
  }
}

function faultOf(error: Error, signal: AbortSignal, unread: boolean): unknown {
  if (signal.aborted) return signal.reason
  if (error instanceof AuthzenError) return error
  const { code } = error as NodeJS.ErrnoException
  if (unread && STALE.has(code)) return new StaleConnection()
  return new AuthzenError('unreachable', `the policy decision point can't be reached (\`${code ?? error.message}\`)`, {
    cause: error,
  })
}

async function readText(answer: http.IncomingMessage, most: number): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of answer) {
    length += chunk.length
    if (length > most) {
      throw new AuthzenError('invalid-answer', `the answer has more than ${most} bytes: raise \`mostAnswerBytes\``)
    }
    chunks.push(chunk)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  } catch {
    throw new AuthzenError('invalid-answer', 'the answer is not UTF-8')
  }
}
