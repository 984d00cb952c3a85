/** The client's address is in one of these networks: `{ network: [192.0.2.0/24, "2001:db8::/32"] }`. */
import { isEachWithin, isInNetworks, parseNetwork, twiceAsLarge } from './cidr.ts'
import type { ConditionKind } from './condition-kind.ts'

export interface Network {
  readonly kind: 'network'
  readonly name: string
  /** In CIDR form; IPv4 networks in IPv4 form. */
  readonly networks: readonly string[]
}

interface Form {
  readonly network: readonly string[]
}

export const network: ConditionKind<Network, Form> = {
  isForm: (form): form is Form => 'network' in form,
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
