/** X-Request-ID: an asking service finds its own request in the answer, problems included (AuthZEN 1.0, section 10). */
import type { IncomingMessage } from 'node:http'
import { echoesRequestId } from '../../resources/built-in/access.ts'
import type { ResponseHeaders } from '../stages/state.ts'

/** Printable ASCII, so that the answer has exactly the bytes of the request; a longer or another value isn't repeated. */
const ECHOED = /^[\x20-\x7e]{1,256}$/

/** Of a request target in absolute form (RFC 9112 section 3.2.2). */
const ORIGIN = /^https?:\/\/[^/]*/i

export function echoRequestId({ url = '', headers }: IncomingMessage, answer: ResponseHeaders): void {
  if (!echoesRequestId(url.startsWith('/') ? url : url.replace(ORIGIN, ''))) return
  const id = headers['x-request-id']
  if (typeof id === 'string' && ECHOED.test(id)) answer['X-Request-ID'] = id
}
