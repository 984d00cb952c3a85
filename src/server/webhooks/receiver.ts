/**
 * Sends to the address of a subscription by HTTPS. It follows no redirect, and connects to no address that isn't of the
 * public Internet, whatever a name leads to: what is checked is the address that is connected to.
 */
import { type LookupAddress, lookup } from 'node:dns'
import type { IncomingMessage } from 'node:http'
import { Agent, request as requestHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { readIpAddress } from '../../base/ip-address.ts'
import type { WebhookPlaces } from '../../config/webhook-places.ts'
import { isInNetworks } from '../../decide/request-conditions/network.ts'
import { PROGRAM } from '../../present/program.ts'

/** From the first byte to the whole answer. */
const LONGEST_MS = 15_000
/** An answer is read so far, so that the connection can be used again. */
const LONGEST_ANSWER = 64 * 1024

/** Why a receiver didn't take an event, in words. */
export class NotAccepted extends Error {
  readonly status: number
  constructor(status: number) {
    super(status >= 300 && status < 400 ? `it answers ${status}, and no redirect is followed` : `it answers ${status}`)
    this.name = 'NotAccepted'
    this.status = status
  }
}

export interface WebhookReceiver {
  /** Resolves when the event was taken. Throws NotAccepted, or why nothing could be sent. */
  post(url: URL, body: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void>
  close(): void
}

export function webhookReceiver({ networks, ca }: WebhookPlaces): WebhookReceiver {
  const mayReach = (address: string) => isPublic(address) || isInNetworks(address, networks)
  const agent = new Agent({ keepAlive: true, lookup: lookupOf(mayReach), ...(ca === undefined ? {} : { ca }) })
  return {
    async post(url, body, headers, signal) {
      // Node asks for no name where the address is written.
      const host = url.hostname.replace(/^\[|\]$/g, '')
      if (isIP(host) && !mayReach(host)) throw refusedAddress(host)
      const answer = await new Promise<IncomingMessage>((resolve, reject) => {
        const request = requestHttps(url, {
          method: 'POST',
          agent,
          headers: {
            ...headers,
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(body),
            'user-agent': `sallyport/${PROGRAM.version}`,
          },
          signal: AbortSignal.any([signal, AbortSignal.timeout(LONGEST_MS)]),
        })
        request.once('response', resolve).once('error', reject)
        request.end(body)
      })
      await discard(answer)
      const status = answer.statusCode ?? 0
      if (status < 200 || status > 299) throw new NotAccepted(status)
    },
    close: () => agent.destroy(),
  }
}

/** `ipaddr.js` knows the registries of special addresses; an IPv4 address in IPv6 form counts as IPv4. */
function isPublic(address: string): boolean {
  return readIpAddress(address)?.range() === 'unicast'
}

function lookupOf(mayReach: (address: string) => boolean): LookupFunction {
  return (host, options, done) => {
    lookup(host, { ...options, all: true }, (error, found: LookupAddress[]) => {
      const [first, ...more] = (error ? [] : found).filter(({ address }) => mayReach(address))
      if (!first) done(error ?? refusedAddress(host), '')
      else if (options.all) done(null, [first, ...more])
      else done(null, first.address, first.family)
    })
  }
}

function refusedAddress(host: string): Error {
  return new Error(`${host} is not on the public Internet: add its network to WEBHOOK_NETWORKS if it is meant`)
}

async function discard(answer: IncomingMessage): Promise<void> {
  let bytes = 0
  for await (const chunk of answer) {
    bytes += (chunk as Buffer).length
    if (bytes > LONGEST_ANSWER) return
  }
}
