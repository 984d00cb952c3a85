/** The client's address is in one of these networks: `{ network: [192.0.2.0/24, "2001:db8::/32"] }`. */

import { isIPv4, isIPv6 } from 'node:net'
import ipaddr from 'ipaddr.js'
import { type IpAddress, readIpAddress } from '../../base/ip-address.ts'
import type { ConditionKind } from './condition-kind.ts'

export interface Network {
  readonly kind: 'network'
  readonly name: string
  /** In CIDR form; IPv4 networks in IPv4 form. */
  readonly networks: readonly string[]
}

interface NetworkForm {
  readonly network: readonly string[]
}

export const network: ConditionKind<Network, NetworkForm> = {
  isForm: (form): form is NetworkForm => 'network' in form,
  needsCaller: false,
  parse(name, { network: written }, fault) {
    const parsed = written.map((text, i) => parseNetwork(text, (...rest) => fault(['network', i], ...rest)))
    const networks = parsed.filter((text) => text !== undefined)
    return networks.length === written.length ? { kind: 'network', name, networks } : undefined
  },
  holds: ({ networks }, { address }) => isInNetworks(address, networks),
  describe: ({ networks }) => `the address is in ${networks.join(' or ')}`,
  meaning: ({ networks }) => JSON.stringify(['network', ...new Set(networks.toSorted())]),
  /** Each network lies in one network of the other; several that only cover it together don't count. */
  isWithin: (one, other) => isEachWithin(one.networks, other.networks),
  /** One network left out, one twice as large. */
  mistakes({ networks }) {
    const fewer = networks.length < 2 ? [] : networks.map((left) => networks.filter((one) => one !== left))
    const larger = networks.flatMap((one, i) => twiceAsLarge(one).map((other) => networks.with(i, other)))
    return [...fewer, ...larger].map((some) => ({ network: some }))
  },
}

// Networks in CIDR form: `192.0.2.0/24`, `2001:db8::/32`.

type AddressRange = readonly [address: IpAddress, bits: number]

type NetworkFault = (code: string, message: string, hint?: string) => void

/** Whether an address lies in one of the networks; IPv4 in IPv6 form counts as IPv4. An unreadable address lies in none. */
export function isInNetworks(address: string | undefined, networks: readonly string[]): boolean {
  const from = address === undefined ? undefined : readIpAddress(address)
  return from !== undefined && rangesOf(networks).some((range) => isIn(from, range))
}

/** Whether each network lies in one of the others. */
function isEachWithin(networks: readonly string[], others: readonly string[]): boolean {
  return rangesOf(networks).every(([start, bits]) =>
    rangesOf(others).some((range) => range[1] <= bits && isIn(start, range)),
  )
}

/** Whether some address lies in a network of each. */
export function doNetworksMeet(some: readonly string[], others: readonly string[]): boolean {
  return some.some((one) => others.some((other) => isEachWithin([one], [other]) || isEachWithin([other], [one])))
}

/** The parsed networks of each list: a list lasts as long as its policy. */
const parsedRanges = new WeakMap<readonly string[], readonly AddressRange[]>()

function rangesOf(networks: readonly string[]): readonly AddressRange[] {
  const known = parsedRanges.get(networks)
  if (known) return known
  const ranges = networks.map((text) => ipaddr.parseCIDR(text))
  parsedRanges.set(networks, ranges)
  return ranges
}

function isIn(address: IpAddress, [start, bits]: AddressRange): boolean {
  return address.kind() === start.kind() && address.match(start, bits)
}

/** In the library's form; undefined, and reported, if it isn't a network. */
export function parseNetwork(text: string, fault: NetworkFault): string | undefined {
  const [address = '', bits = ''] = text.split('/')
  const isAddress = isIPv4(address) || (isIPv6(address) && !address.includes('%'))
  if (isAddress && text === address) {
    const whole = isIPv4(address) ? 32 : 128
    fault('network-form', `\`${text}\` is one address, not a network`, `write \`${text}/${whole}\``)
    return undefined
  }
  if (!isAddress || text !== `${address}/${bits}` || !/^(0|[1-9]\d{0,2})$/.test(bits) || !ipaddr.isValidCIDR(text)) {
    fault(
      'network-form',
      `\`${text}\` is not a network`,
      'write it in CIDR form, as in `192.0.2.0/24` or `"2001:db8::/32"`',
    )
    return undefined
  }
  const [start, size] = asIPv4(ipaddr.parseCIDR(text))
  const found = cidrOf(start, size)
  if (found === `${start}/${size}`) return found
  fault('network-form', `\`${text}\` has bits set behind its ${bits} network bits`, `write \`${found}\``)
  return undefined
}

/** A network of IPv4 addresses in IPv6 form (`::ffff:192.0.2.0/120`) is that IPv4 network. */
function asIPv4([address, bits]: AddressRange): AddressRange {
  const mapped = address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= 96
  return mapped ? [address.toIPv4Address(), bits - 96] : [address, bits]
}

function cidrOf(address: IpAddress, bits: number): string {
  const { IPv4, IPv6 } = ipaddr
  const start = (address.kind() === 'ipv4' ? IPv4 : IPv6).networkAddressFromCIDR(`${address}/${bits}`)
  return `${start}/${bits}`
}

function twiceAsLarge(text: string): readonly string[] {
  const [address, bits] = ipaddr.parseCIDR(text)
  return bits === 0 ? [] : [cidrOf(address, bits - 1)]
}
