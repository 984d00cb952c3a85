/** Signatures as Standard Webhooks has them (https://www.standardwebhooks.com), and the secrets that make them. */
import { createHmac, hkdfSync } from 'node:crypto'

/** The name of the store's secret that all others are made of. */
export const WEBHOOK_SECRET = 'webhooks'

const BEGINNING = 'whsec_'

/**
 * The secret of a subscription with this number, as its receiver is told it. It is made of a secret that stays in the
 * database, so no file and no variable has it.
 */
export function webhookSecret(kept: Uint8Array, subscription: string, number: number): string {
  const made = hkdfSync('sha256', kept, new Uint8Array(), `webhook ${subscription} ${number}`, 32)
  return `${BEGINNING}${Buffer.from(made).toString('base64')}`
}

/** The last secret signs too, so that receivers can take over the new one in their own time. */
export function secretsInUse(kept: Uint8Array, subscription: string, number: number): readonly string[] {
  return [number, number - 1].filter((one) => one > 0).map((one) => webhookSecret(kept, subscription, one))
}

interface SignedMessage {
  readonly id: string
  readonly seconds: number
  readonly body: string
}

export function signedHeaders(
  { id, seconds, body }: SignedMessage,
  secrets: readonly string[],
): Readonly<Record<string, string>> {
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(BEGINNING.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`
  })
  return { 'webhook-id': id, 'webhook-timestamp': String(seconds), 'webhook-signature': signatures.join(' ') }
}
