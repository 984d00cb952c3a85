/** Requests as bytes, for what no HTTP client would send; and the server's answers as it wrote them. */
import { connect, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'

export interface RawAnswer {
  readonly status: number
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

export interface Conversation {
  /** All that the server said, interim answers included. */
  readonly answers: readonly RawAnswer[]
  /** The server ended the connection; false when it was still open after `patience`. */
  readonly closed: boolean
}

interface Manner {
  /** Stops listening after so many answers; else when the server closes. */
  readonly answers?: number
  /** Milliseconds to wait for that; longer than any answer takes. */
  readonly patience?: number
}

/** Milliseconds between two packets. */
export type Pause = number

/** Sends the parts one after another, each in a packet of its own. The client never closes its side first. */
export async function converse(
  url: string,
  parts: readonly (string | Buffer | Pause)[],
  { answers, patience = 60_000 }: Manner = {},
): Promise<Conversation> {
  const socket = open(url)
  let text = ''
  try {
    return await new Promise<Conversation>((resolve) => {
      const settle = (closed: boolean) => resolve({ answers: parseAnswers(text), closed })
      socket.on('data', (data) => {
        text += data.toString('latin1')
        if (answers !== undefined && parseAnswers(text).length >= answers) settle(false)
      })
      socket.on('end', () => settle(true))
      socket.on('close', () => settle(true))
      setTimeout(() => settle(false), patience).unref()
      void write(socket, parts)
    })
  } finally {
    socket.destroy()
  }
}

/** A connection whose errors (a reset, which a test may provoke) end nothing. */
export function open(url: string): Socket {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true, noDelay: true })
  return socket.on('error', () => socket.destroy())
}

async function write(socket: Socket, parts: readonly (string | Buffer | Pause)[]): Promise<void> {
  for (const part of parts) {
    // What has come meanwhile is read first: a write to who has closed loses it.
    if (typeof part === 'number') await sleep(part).then(() => setImmediate())
    else if (socket.writable) socket.write(part)
  }
}

export function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds)
  })
}

/** The whole answers in a text; bodies are as long as Content-Length says. */
export function parseAnswers(text: string): readonly RawAnswer[] {
  const answers: RawAnswer[] = []
  let rest = text
  for (;;) {
    const end = rest.indexOf('\r\n\r\n')
    if (end < 0) return answers
    const [statusLine = '', ...lines] = rest.slice(0, end).split('\r\n')
    const headers = Object.fromEntries(lines.map(header))
    const length = Number(headers['content-length'] ?? 0)
    const body = rest.slice(end + 4, end + 4 + length)
    if (body.length < length) return answers
    answers.push({ status: Number(statusLine.split(' ')[1]), headers, text: body })
    rest = rest.slice(end + 4 + length)
  }
}

function header(line: string): readonly [string, string] {
  const at = line.indexOf(':')
  return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()]
}

/** A request with a Host and the headers given; `Connection: close` unless they name another. */
export function request(line: string, headers: readonly string[] = [], body = ''): string {
  const named = headers.some((one) => /^connection:/i.test(one))
  const all = ['Host: localhost', ...headers, ...(named ? [] : ['Connection: close'])]
  return `${line} HTTP/1.1\r\n${all.join('\r\n')}\r\n\r\n${body}`
}
