/** Server-sent events as an answer (HTML, section 9.2). */
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ResponseHeaders } from '../stages/state.ts'

export const EVENT_STREAM = 'text/event-stream'

/** Events end within a minute; what is left is to send the last ones. */
const LONGEST_MS = 65_000

export function openEventStream(response: ServerResponse, headers: ResponseHeaders): void {
  response.writeHead(200, {
    ...headers,
    'Content-Type': `${EVENT_STREAM}; charset=utf-8`,
    // nginx would keep them back.
    'X-Accel-Buffering': 'no',
    // A server that stops would wait for the connection otherwise.
    Connection: 'close',
  })
}

/** Nothing waits in memory but one event: the next one is made when the client has taken it. */
export function sendEvents(
  response: ServerResponse,
  headers: ResponseHeaders,
  events: AsyncIterable<string>,
  longestMs = LONGEST_MS,
): void {
  openEventStream(response, headers)
  // A client that doesn't read would keep the stream open after its end.
  const cutOff = setTimeout(() => response.socket?.resetAndDestroy(), longestMs).unref()
  response.once('close', () => clearTimeout(cutOff))
  void pipeline(Readable.from(events, { highWaterMark: 1 }), response).catch(() => response.destroy())
}
