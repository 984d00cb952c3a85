/**
 * Streams of events that this server opens from itself, in the name of an API key: real requests without a socket, so a
 * subscription is sent what a client with this key would see, and each stream is decided, limited and recorded alike.
 */
import type { IncomingMessage, RequestListener } from 'node:http'
import { duplexPair } from 'node:stream'
import { http } from '../http/listen.ts'
import { EventFeed } from './event-feed.ts'

interface StreamWish {
  /** The id of the API key. */
  readonly key: string
  /** With the query. */
  readonly path: string
  /** The id of the last event that is done with. */
  readonly after: string | undefined
}

/** Throws StreamRefused, or why there is no answer. */
export type OpenStream = (wish: StreamWish, signal: AbortSignal) => Promise<EventFeed>

/** The key may not follow the events now. */
export class StreamRefused extends Error {
  constructor(why: string) {
    super(why)
    this.name = 'StreamRefused'
  }
}

/** `lend`: the credential of a key. */
export function openOwnStreams(stages: RequestListener, lend: (key: string) => string): OpenStream {
  // It never listens.
  const server = http.createServer({ requireHostHeader: false }, stages)
  return async ({ key, path, after }, signal) => {
    const answer = await ask(server, signal, path, {
      host: 'localhost',
      accept: 'text/event-stream',
      authorization: `Bearer ${lend(key)}`,
      ...(after === undefined ? {} : { 'last-event-id': after }),
    })
    if (answer.statusCode === 200) return new EventFeed(answer)
    throw new StreamRefused(await refusalIn(answer))
  }
}

function ask(
  server: ReturnType<typeof http.createServer>,
  signal: AbortSignal,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<IncomingMessage> {
  const [near, far] = duplexPair()
  // A socket has it, and a stream that is cut off needs it.
  Object.assign(far, { resetAndDestroy: () => far.destroy() })
  // Whoever waits for the answer is told of the end.
  for (const side of [near, far]) side.on('error', () => undefined)
  far.once('close', () => near.destroy())
  server.emit('connection', far)
  return new Promise((resolve, reject) => {
    const request = http.request({ createConnection: () => near, path, headers, signal })
    request.once('response', resolve).on('error', reject).end()
  })
}

/** In characters. */
const LONGEST = 10_000

/** The sentence of the problem document. */
async function refusalIn(answer: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of answer.setEncoding('utf8')) {
    text += chunk
    if (text.length > LONGEST) break
  }
  const status = `the stream answers ${answer.statusCode}`
  try {
    const { code, detail } = JSON.parse(text) as { readonly code?: unknown; readonly detail?: unknown }
    return `${status} ${code}: ${detail}`
  } catch {
    return status
  }
}
