/** Gives requests to the stages without a connection, and keeps what a server would send. */
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type Koa from 'koa'
import compose from 'koa-compose'
import type { Problem } from '../../base/problems/problem.ts'

export interface InMemoryRequest {
  readonly method: string
  /** With the query, if there is one. */
  readonly path: string
  /** In lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** JSON; undefined without a body. */
  readonly text?: string | undefined
}

export interface InMemoryAnswer {
  readonly status: number
  /** As the server spells them. */
  readonly headers: Readonly<Record<string, string>>
  /** Empty without a body; that of a HEAD is what a GET would send. */
  readonly text: string
  readonly requestId: string
}

/** What is known of a request of a batch. */
export interface PartOfBatch {
  /** The request id of the batch that the request is in. */
  readonly batch?: string | undefined
  /** Why it isn't asked. */
  readonly refusal?: Problem | undefined
}

/** What a request has of another one. */
export interface OuterRequest extends PartOfBatch {
  /** Of the client; a request of a command has none. */
  readonly remoteAddress?: string | undefined
  /** Its client may be gone before the answer. */
  readonly within?: ServerResponse
}

export type AskInMemory = (request: InMemoryRequest, outer?: OuterRequest) => Promise<InMemoryAnswer>

export function inMemory(koa: Koa): AskInMemory {
  const run = compose(koa.middleware)
  return async (request, { remoteAddress, within, ...known } = {}) => {
    const asked = messageOf(request, remoteAddress)
    const given = new KeptResponse(asked)
    const ctx = koa.createContext(asked, given)
    Object.assign(ctx.state, known)
    const leave = () => given.emit('close')
    within?.once('close', leave)
    run(ctx).catch(given.reject)
    try {
      return { ...(await given.answer), requestId: ctx.state.requestId }
    } finally {
      within?.off('close', leave)
    }
  }
}

function messageOf(
  { method, path, headers, text }: InMemoryRequest,
  remoteAddress: string | undefined,
): IncomingMessage {
  // Never connected.
  const socket = new Socket()
  Object.defineProperty(socket, 'remoteAddress', { value: remoteAddress })
  const message = new IncomingMessage(socket)
  Object.assign(message, { method, url: path, httpVersion: '1.1', httpVersionMajor: 1, httpVersionMinor: 1 })
  message.headers = { ...headers, ...(text !== undefined && { 'content-length': `${Buffer.byteLength(text)}` }) }
  message.rawHeaders = Object.entries(message.headers).flatMap(([name, value]) => [name, String(value)])
  if (text !== undefined) message.push(text)
  message.push(null)
  message.complete = true
  return message
}

type SentAnswer = Omit<InMemoryAnswer, 'requestId'>

/** Keeps what a server would send. */
class KeptResponse extends ServerResponse {
  readonly answer: Promise<SentAnswer>
  readonly reject: (error: unknown) => void
  readonly #resolve: (answer: SentAnswer) => void
  readonly #pieces: (string | Buffer)[] = []
  #head: Omit<SentAnswer, 'text'> = { status: 500, headers: {} }

  constructor(request: IncomingMessage) {
    super(request)
    const { promise, resolve, reject } = Promise.withResolvers<SentAnswer>()
    this.answer = promise
    this.#resolve = resolve
    this.reject = reject
  }

  override writeHead(status: number, ...[headers]: unknown[]): this {
    this.#head = { status, headers: headers as SentAnswer['headers'] }
    return this
  }

  override write(piece: unknown): boolean {
    this.#pieces.push(piece as string | Buffer)
    return true
  }

  override end(...[piece]: unknown[]): this {
    if (piece !== undefined) this.#pieces.push(piece as string | Buffer)
    const [first = '', ...more] = this.#pieces
    // A large answer comes in pieces, which may end within a character.
    const text = more.length === 0 ? first : Buffer.concat(this.#pieces.map((one) => Buffer.from(one)))
    this.#resolve({ ...this.#head, text: String(text) })
    this.emit('finish')
    this.emit('close')
    return this
  }
}
