/** The client address of a request: the peer's, or the one that a trusted proxy reports. */
import type { IncomingMessage } from 'node:http'
import type { IPv6 } from 'ipaddr.js'
import proxyAddr from 'proxy-addr'
import { isIpAddress, readIpAddress } from '../../base/ip-address.ts'

export type ClientAddress = (request: IncomingMessage) => FoundAddress

interface FoundAddress {
  /** As limits and records count it: an IPv6 address by its network. */
  readonly counted: string
  /** The whole address, for the conditions of the policy; undefined if it isn't known. */
  readonly whole: string | undefined
}

/** The number of addresses whose network is cached; most requests come from few addresses. */
const KEPT = 10_000

/** In characters: an IPv6 address with an IPv4 address in it and a zone. */
const LONGEST_KEPT = 64

/** `trusted` are CIDRs whose `X-Forwarded-For` counts (TRUST_PROXY); throws TypeError for an invalid address. */
export function createClientAddress(trusted: readonly string[]): ClientAddress {
  const isTrusted = proxyAddr.compile([...trusted])
  const trust: typeof isTrusted = (address, hop) => isIpAddress(address) && isTrusted(address, hop)
  const networks = new Map<string, FoundAddress | undefined>()
  const networkOf = (address: string) => {
    const known = networks.get(address)
    if (known !== undefined || networks.has(address)) return known
    const found = find(address)
    // A trusted proxy may pass on any text, of any length.
    if (address.length > LONGEST_KEPT) return found
    if (networks.size === KEPT) networks.clear()
    networks.set(address, found)
    return found
  }
  return (request) => {
    const peer = request.socket.remoteAddress ?? ''
    const unknown = { counted: peer, whole: undefined }
    if (trusted.length === 0) return networkOf(peer) ?? unknown
    // A trusted proxy may pass on any text unchecked: if it isn't an address, the proxy itself counts as the client.
    return networkOf(proxyAddr(request, trust)) ?? networkOf(peer) ?? unknown
  }
}

/** One household has a /64 of IPv6 addresses, so limits count by /64. An IPv4 address inside IPv6 counts as IPv4. */
function find(address: string): FoundAddress | undefined {
  const parsed = readIpAddress(address)
  if (parsed === undefined) return undefined
  const whole = parsed.toString()
  if (parsed.kind() === 'ipv4') return { counted: whole, whole }
  const groups = (parsed as IPv6).parts.slice(0, 4).map((group) => group.toString(16))
  return { counted: `${groups.join(':')}::/64`, whole }
}
