/** The request target (RFC 9112 section 3.2) as a raw path and a raw query; nothing is decoded or normalised here. */

import { isIPv6 } from 'node:net'
import { Problem } from '../../base/problems/problem.ts'

/** Longer than any URL that the routes can need; the header limit of Node's parser is a further bound. */
export const MAX_URL_LENGTH = 8192

/** Most targets: nothing in it has to be looked at more closely. */
const PLAIN_PATH = /^\/[\w/.~-]*$/

export interface Target {
  /** Percent-encoded, as sent; `*` for OPTIONS *. */
  readonly path: string
  /** The text after the question mark; empty without one. */
  readonly query: string
}

/** A faulty target is a value, not an exception, because rate limits come before any answer. */
export function readTarget(url: string): Target | Problem {
  if (url.length > MAX_URL_LENGTH) return urlTooLong()
  if (PLAIN_PATH.test(url)) return { path: url, query: '' }
  // A server must accept the absolute form (RFC 9112 section 3.2.2); its path counts as if it had come alone.
  const {
    authority,
    path = '',
    query = '',
  } = /^(?:https?:\/\/(?<authority>[^/?#]*))?(?<path>\/[^?#]*|\*)(?:\?(?<query>[^#]*))?$/i.exec(url)?.groups ?? {}
  if (path === '') return new Problem('invalid-path', 'The request target is not a path; begin it with /.')
  // RFC 9110 sections 4.2.1 and 4.2.4: every http URL has a host, and a user name in it may be meant to deceive.
  if (authority !== undefined && (/^(?::|$)/.test(authority) || !isAuthority(authority))) {
    return new Problem(
      'invalid-path',
      'The host of the request target is not valid; send a host with an optional port.',
    )
  }
  if (decode(path) === undefined)
    return new Problem('invalid-path', 'The path has faulty percent-encoding; encode it as UTF-8.')
  return { path, query }
}

export function urlTooLong(): Problem {
  return new Problem('url-too-long', `The URL is too long; send at most ${MAX_URL_LENGTH} characters.`)
}

/** Percent-decodes a text; undefined if the result isn't well-formed UTF-8. */
export function decode(text: string): string | undefined {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** Host names and IPv4 addresses; the host may be empty, and so may the port. */
const NAMED = /^(?:[\w.~!$&'()*+,;=-]|%[\dA-Fa-f]{2})*(?::\d*)?$/
const BRACKETED = /^\[(?:(?<address>[\dA-Fa-f:.]+)|[vV][\dA-Fa-f]+\.[\w.~!$&'()*+,;=:-]+)\](?::\d*)?$/

export function isAuthority(text: string): boolean {
  if (NAMED.test(text)) return true
  const bracketed = BRACKETED.exec(text)
  if (!bracketed) return false
  const address = bracketed.groups?.address
  return address === undefined || isIPv6(address)
}
