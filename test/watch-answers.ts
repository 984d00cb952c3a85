/** Sees every answer that a server of this process gives, to whatever client: Node tells of each request that arrives. */
import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { CheckedAnswer } from './answer-checker.ts'

/** With the values of the request's headers Authorization and X-Sallyport-Key. */
type Note = (answer: CheckedAnswer, credentials: readonly string[]) => void

/** By port. What the parser refuses by itself is no request to Node, so it isn't seen. */
const watched = new Map<string, Note>()

subscribe('http.server.request.start', (message) => {
  const { request, response } = message as { request: IncomingMessage; response: ServerResponse }
  const note = watched.get(String(request.socket.localPort))
  if (note) watch(request, response, note)
})

/** From now on, until another server has the port. */
export function watchAnswers(url: string, note: Note): void {
  watched.set(new URL(url).port, note)
}

function watch({ method = '', url = '', rawHeaders }: IncomingMessage, response: ServerResponse, note: Note): void {
  const { end, write, writeHead } = response
  const pieces: Buffer[] = []
  let headers = new Headers()
  response.end = ((...args: Parameters<typeof end>) => {
    const [chunk] = args as readonly unknown[]
    if (typeof chunk === 'string' || chunk instanceof Uint8Array) pieces.push(Buffer.from(chunk as string))
    return end.apply(response, args)
  }) as typeof end
  response.write = ((...args: Parameters<typeof write>) => {
    pieces.push(Buffer.from(args[0] as Uint8Array))
    return write.apply(response, args)
  }) as typeof write
  // What is handed to it Node writes and doesn't keep.
  response.writeHead = ((...args: Parameters<typeof writeHead>) => {
    headers = headersIn(args.at(-1))
    return writeHead.apply(response, args)
  }) as typeof writeHead
  response.once('finish', () => {
    for (const [name, value] of Object.entries(response.getHeaders())) headers.set(name, String(value))
    const text = Buffer.concat(pieces).toString()
    note({ method, path: url, status: response.statusCode, headers, text }, credentialsIn(rawHeaders))
  })
}

/** Of a list of names and values in turn, or an object. */
function headersIn(given: unknown): Headers {
  const pairs = Array.isArray(given)
    ? given.flatMap((name, i) => (i % 2 === 0 ? [[name, given[i + 1]]] : []))
    : Object.entries(given instanceof Object ? given : {})
  return new Headers(pairs.map(([name, value]) => [String(name), String(value)]))
}

function credentialsIn(rawHeaders: readonly string[]): readonly string[] {
  const isCredential = (name = '') => /^(?:authorization|x-sallyport-key)$/i.test(name)
  return rawHeaders.filter((_, i) => i % 2 === 1 && isCredential(rawHeaders[i - 1]))
}
