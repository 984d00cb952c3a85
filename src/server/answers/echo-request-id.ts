/** X-Request-ID: an asking service finds its own request in the answer, problems included (AuthZEN 1.0, section 10). */
import type { IncomingMessage } from 'node:http'
import { echoesRequestId } from '../../resources/built-in/access.ts'
import type { ResponseHeaders } from '../stages/state.ts'

/** So that the answer has exactly the bytes of the request; all its headers together have at most 16 KiB. */
const ECHOED = /^[\t\x20-\x7e]+$/

/** Of a request target in absolute form (RFC 9112 section 3.2.2). */
const ORIGIN = /^https?:\/\/[^/]*/i

export function echoRequestId({ url = '', headers }: IncomingMessage, answer: ResponseHeaders): void {
  if (!echoesRequestId(url.startsWith('/') ? url : url.replace(ORIGIN, ''))) return
  const id = headers['x-request-id']
  if (typeof id === 'string' && ECHOED.test(id)) answer['X-Request-ID'] = id
}
