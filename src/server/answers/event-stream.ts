/** Server-sent events as an answer (HTML, section 9.2). */
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ResponseHeaders } from '../stages/state.ts'

export const EVENT_STREAM = 'text/event-stream'

/** Nothing waits in memory but one event: the next one is made when the client has taken it. */
export function sendEvents(response: ServerResponse, headers: ResponseHeaders, events: AsyncIterable<string>): void {
  response.writeHead(200, {
    ...headers,
    'Content-Type': `${EVENT_STREAM}; charset=utf-8`,
    // nginx would keep them back.
    'X-Accel-Buffering': 'no',
    // A server that stops would wait for the connection otherwise.
    Connection: 'close',
  })
  void pipeline(Readable.from(events, { highWaterMark: 1 }), response).catch(() => response.destroy())
}
