/** The metrics of webhooks, one for each subscription: a policy has at most a hundred. */
import { Counter, Gauge, type Registry } from 'prom-client'
import type { DeliveryState } from '../../store/deliveries.ts'
import type { RunEvent } from './subscription-run.ts'

export interface WebhookMeters {
  count(subscription: string, event: RunEvent): void
  /** Asked at every scrape: the subscriptions that this process delivers. */
  watch(states: () => ReadonlyMap<string, DeliveryState>): void
}

/** `last`: the number of the last change. */
export function createWebhookMeters(registry: Registry, last: () => Promise<number>): WebhookMeters {
  const registers = [registry]
  const labelNames = ['subscription'] as const
  const taken = new Counter({
    name: 'sallyport_webhook_taken_total',
    help: 'Events that the receiver of a subscription has taken',
    labelNames,
    registers,
  })
  const failed = new Counter({
    name: 'sallyport_webhook_failures_total',
    help: 'Attempts to send an event that failed',
    labelNames,
    registers,
  })
  const buried = new Counter({
    name: 'sallyport_webhook_dead_letters_total',
    help: 'Events that were given up after three days',
    labelNames,
    registers,
  })
  let states: () => ReadonlyMap<string, DeliveryState> = () => new Map()
  new Gauge({
    name: 'sallyport_webhook_failing_seconds',
    help: 'For how long a subscription has failed; 0 if it works',
    labelNames,
    registers,
    collect() {
      this.reset()
      for (const [subscription, { failingSince }] of states()) {
        const since = failingSince === undefined ? 0 : Math.max(0, Date.now() - Date.parse(failingSince)) / 1000
        this.set({ subscription }, since)
      }
    },
  })
  new Gauge({
    name: 'sallyport_webhook_lag_changes',
    help: 'Changes of all objects since the last event that was taken',
    labelNames,
    registers,
    async collect() {
      this.reset()
      const found = states()
      if (found.size === 0) return
      const number = await last().catch(() => undefined)
      if (number === undefined) return
      for (const [subscription, { after = '0' }] of found) {
        this.set({ subscription }, Math.max(0, number - Number.parseInt(after, 10)))
      }
    },
  })
  return {
    count(subscription, { kind }) {
      if (kind === 'taken') taken.inc({ subscription })
      if (kind === 'failed' || kind === 'gone') failed.inc({ subscription })
      if (kind === 'buried') buried.inc({ subscription })
    },
    watch(found) {
      states = found
    },
  }
}
