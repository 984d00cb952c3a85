/** Delivers the events of subscriptions.yaml. Nothing of it is loaded before a policy in force has a subscription. */
import type { RequestListener } from 'node:http'
import type { Logger } from 'pino'
import type { Config } from '../../config/config.ts'
import type { DecisionLog } from '../../decision-log/decision-log.ts'
import type { LivePolicy } from '../../policy/live/live-policy.ts'
import type { OpenedStore } from '../../store/contract.ts'
import type { Metrics } from '../observe/metrics.ts'
import { deliveryLine } from '../observe/server-records.ts'

interface WebhookSources extends Pick<OpenedStore, 'store' | 'deliveries' | 'changes'> {
  readonly policy: Pick<LivePolicy, 'active'>
  readonly stages: RequestListener
  /** The credential of an API key, for requests of this process. */
  readonly lend: (keyId: string) => string
  readonly decisionLog: Pick<DecisionLog, 'noteUnawaited'>
  readonly now: () => Date
  readonly log: Logger
  readonly metrics: Pick<Metrics, 'registry'>
}

const EVERY_MS = 1000

/** Returns what ends it, and waits for what is under way. */
export function openWebhooks(config: Config, sources: WebhookSources): () => Promise<void> {
  const { policy } = sources
  const load = async () => {
    if (policy.active.snapshot.subscriptions.length === 0) return undefined
    return loadWebhooks(config, sources)
  }
  let webhooks: Awaited<ReturnType<typeof load>>
  let looking: Promise<void> | undefined
  const look = async () => {
    webhooks ??= await load()
    await webhooks?.look()
    looking = undefined
  }
  const timer = setInterval(() => {
    looking ??= look()
  }, EVERY_MS).unref()
  return async () => {
    clearInterval(timer)
    await looking
    await webhooks?.close()
  }
}

async function loadWebhooks(config: Config, sources: WebhookSources) {
  const { policy, stages, lend, decisionLog, metrics, changes, now, ...parts } = sources
  const { Webhooks } = await import('../webhooks/webhooks.ts')
  const { openOwnStreams } = await import('../webhooks/own-streams.ts')
  const { createWebhookMeters } = await import('../webhooks/meters.ts')
  return new Webhooks({
    ...parts,
    now,
    places: config.webhooks,
    open: openOwnStreams(stages, lend),
    subscriptions: () => policy.active.snapshot.subscriptions,
    meters: createWebhookMeters(metrics.registry, () => changes.last()),
    noteSent: ({ subscription: { name, url, key, resource }, isTaken, last, events }) => {
      const about = { instance: config.instance, now: now(), revision: policy.active.revision }
      const delivered = { subscription: name, to: new URL(url).host, events, last: Number.parseInt(last, 10) }
      decisionLog.noteUnawaited(deliveryLine(about, { resource, credential: `key ${key}`, delivered, isTaken }))
    },
  })
}
