/** An IP address in the one form that every program reads alike. */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6

/** Some programs read `167838211`, `010.0.0.1` and `0x7f000001` as IPv4, and not as the same address. */
export function isIpAddress(text: string): boolean {
  return isIP(text) !== 0
}

/** IPv4 in IPv6 form is IPv4. Undefined for text that isn't an address. */
export function readIpAddress(text: string): IpAddress | undefined {
  return isIpAddress(text) && ipaddr.isValid(text) ? ipaddr.process(text) : undefined
}
