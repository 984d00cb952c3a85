/** Who a request comes from, as far as addresses tell: the peer, or what a trusted proxy says of it. */
import type { IncomingMessage } from 'node:http'
import ipaddr from 'ipaddr.js'
import proxyAddr from 'proxy-addr'

export type ClientAddress = (request: IncomingMessage) => string

/** Addresses whose network is kept; most requests come from few. */
const KEPT = 10_000

/** `trusted` are CIDRs whose `X-Forwarded-For` counts (TRUST_PROXY); throws TypeError for what is no address. */
export function createClientAddress(trusted: readonly string[]): ClientAddress {
  const trust = proxyAddr.compile([...trusted])
  const networks = new Map<string, string | undefined>()
  const networkOf = (address: string) => {
    const known = networks.get(address)
    if (known !== undefined || networks.has(address)) return known
    if (networks.size === KEPT) networks.clear()
    const found = network(address)
    networks.set(address, found)
    return found
  }
  return (request) => {
    const peer = request.socket.remoteAddress ?? ''
    if (trusted.length === 0) return networkOf(peer) ?? peer
    // What a trusted proxy passes on unread can be anything: then the proxy itself is the client.
    return networkOf(proxyAddr(request, trust)) ?? networkOf(peer) ?? peer
  }
}

/** One household has a /64 of IPv6 addresses, so that is what is counted. IPv4 in IPv6 is IPv4. */
function network(address: string): string | undefined {
  if (!ipaddr.isValid(address)) return undefined
  const parsed = ipaddr.process(address)
  if (parsed.kind() === 'ipv4') return parsed.toString()
  const groups = (parsed as ipaddr.IPv6).parts.slice(0, 4).map((group) => group.toString(16))
  return `${groups.join(':')}::/64`
}
