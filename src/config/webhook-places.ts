/** WEBHOOK_NETWORKS and WEBHOOK_CA: what the addresses of subscriptions.yaml may lead to beside the public Internet. */
import { createSecureContext } from 'node:tls'
import { parseNetwork } from '../decide/request-conditions/network.ts'
import { ConfigError, fileText, list, quote } from './values.ts'

export interface WebhookPlaces {
  /** In CIDR form. */
  readonly networks: readonly string[]
  /** PEM: who signs the certificates of receivers, in place of those that Node knows. */
  readonly ca: string | undefined
}

/** Throws ConfigError. */
export function readWebhookPlaces(env: (name: string) => string | undefined): WebhookPlaces {
  const networks = list(env('WEBHOOK_NETWORKS')).map((text) => {
    const network = parseNetwork(text, () => undefined)
    if (network !== undefined) return network
    throw new ConfigError(`WEBHOOK_NETWORKS has ${quote(text)}; list networks like 10.1.0.0/16, separated by commas`)
  })
  const file = env('WEBHOOK_CA')
  const ca = file === undefined ? undefined : fileText('WEBHOOK_CA', file)
  try {
    createSecureContext({ ca })
  } catch {
    throw new ConfigError('WEBHOOK_CA must be a PEM file with certificates; name another')
  }
  return Object.freeze({ networks: Object.freeze(networks), ca })
}
