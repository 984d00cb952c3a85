/** Whom a request is for, `host[:port]`: the value of Host (RFC 9110 section 7.2), by the grammar of RFC 3986 section 3.2. */
import { isIPv6 } from 'node:net'

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
