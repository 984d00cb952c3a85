/** The client address of a request: the peer's, or the one that a trusted proxy reports. Whole, and as limits count it. */
import type { IncomingMessage } from 'node:http'
import ipaddr from 'ipaddr.js'
import proxyAddr from 'proxy-addr'

interface Client {
  /** As conditions of the policy look at it; IPv4 inside IPv6 is IPv4. */
  readonly address: string
  /** As limits count it. */
  readonly network: string
}

export type ClientAddress = (request: IncomingMessage) => Client

/** The number of addresses that are cached; most requests come from few addresses. */
const KEPT = 10_000

/** `trusted` are CIDRs whose `X-Forwarded-For` counts (TRUST_PROXY); throws TypeError for an invalid address. */
export function createClientAddress(trusted: readonly string[]): ClientAddress {
  const trust = proxyAddr.compile([...trusted])
  const clients = new Map<string, Client | undefined>()
  const clientAt = (address: string) => {
    const known = clients.get(address)
    if (known !== undefined || clients.has(address)) return known
    if (clients.size === KEPT) clients.clear()
    const found = readAddress(address)
    clients.set(address, found)
    return found
  }
  return (request) => {
    const peer = request.socket.remoteAddress ?? ''
    // A trusted proxy may pass on any text unchecked: if it isn't an address, the proxy itself counts as the client.
    const reported = trusted.length === 0 ? peer : proxyAddr(request, trust)
    return clientAt(reported) ?? clientAt(peer) ?? { address: peer, network: peer }
  }
}

/** One household has a /64 of IPv6 addresses, so limits count by /64. An IPv4 address inside IPv6 counts as IPv4. */
function readAddress(address: string): Client | undefined {
  if (!ipaddr.isValid(address)) return undefined
  const parsed = ipaddr.process(address)
  const whole = parsed.toString()
  if (parsed.kind() === 'ipv4') return { address: whole, network: whole }
  const groups = (parsed as ipaddr.IPv6).parts.slice(0, 4).map((group) => group.toString(16))
  return { address: whole, network: `${groups.join(':')}::/64` }
}
