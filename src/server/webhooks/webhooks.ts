/**
 * Starts and ends the runs of the subscriptions in force. One process of all that share the database delivers: the one
 * that holds the lease.
 */
import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { WebhookPlaces } from '../../config/webhook-places.ts'
import type { Subscription } from '../../decide/policy.ts'
import type { OpenedStore } from '../../store/contract.ts'
import type { WebhookMeters } from './meters.ts'
import type { OpenStream } from './own-streams.ts'
import { webhookReceiver } from './receiver.ts'
import { secretsInUse, WEBHOOK_SECRET } from './signature.ts'
import { type RunEvent, SubscriptionRun } from './subscription-run.ts'

export interface WebhookParts extends Pick<OpenedStore, 'store' | 'deliveries'> {
  readonly places: WebhookPlaces
  readonly open: OpenStream
  readonly subscriptions: () => readonly Subscription[]
  readonly now: () => Date
  readonly log: Logger
  readonly meters: WebhookMeters
  /** For the decision log: what was sent, and where. */
  readonly noteSent: (sent: SentEvents) => void
}

export interface SentEvents {
  readonly subscription: Subscription
  readonly isTaken: boolean
  /** The id of the last one. */
  readonly last: string
  readonly events: number
}

/** So that a busy subscription has few records. */
const NOTED_EACH_MS = 10_000

interface Started {
  readonly run: SubscriptionRun
  readonly text: string
}

export class Webhooks {
  readonly #parts: WebhookParts
  readonly #holder = randomUUID()
  readonly #runs = new Map<string, Started>()
  readonly #sent = new Map<string, SentEvents>()
  readonly #receiver: ReturnType<typeof webhookReceiver>
  #secret: Uint8Array | undefined
  #holds = false
  #isFailing = false

  constructor(parts: WebhookParts) {
    this.#parts = parts
    this.#receiver = webhookReceiver(parts.places)
    parts.meters.watch(() => new Map([...this.#runs].map(([name, { run }]) => [name, run.state])))
  }

  /** To be called each second, which is less than the lease lasts. Never rejects. */
  async look(): Promise<void> {
    try {
      await this.#look()
      this.#isFailing = false
    } catch (error) {
      await this.#endAll()
      if (!this.#isFailing)
        this.#parts.log.error({ err: error }, 'webhooks wait: the database can not say what is sent')
      this.#isFailing = true
    }
  }

  async close(): Promise<void> {
    await this.#endAll()
    await this.#release()
    this.#receiver.close()
  }

  async #look(): Promise<void> {
    const { deliveries, store, subscriptions } = this.#parts
    const wanted = new Map(subscriptions().flatMap((one) => (one.enabled ? [[one.name, one] as const] : [])))
    if (wanted.size === 0) {
      await this.#endAll()
      return this.#release()
    }
    this.#holds = await deliveries.hold(this.#holder)
    if (!this.#holds) return this.#endAll()
    this.#secret ??= await store.secret(WEBHOOK_SECRET)
    const { states, orders } = await deliveries.kept()
    for (const [name, { run, text }] of this.#runs) {
      if (text === JSON.stringify(wanted.get(name))) continue
      this.#runs.delete(name)
      await run.end()
    }
    for (const [name, subscription] of wanted) {
      const { run } = this.#runs.get(name) ?? this.#start(subscription, this.#secret, states.get(name) ?? {})
      for (const order of orders.get(name) ?? []) {
        run.obey(order)
        await deliveries.ordered(name, order)
      }
    }
  }

  #start(subscription: Subscription, secret: Uint8Array, state: SubscriptionRun['state']): Started {
    const { deliveries, open, now } = this.#parts
    const { name } = subscription
    const run = new SubscriptionRun(state, {
      subscription,
      secrets: secretsInUse(secret, name, subscription.secret),
      deliveries,
      open,
      receiver: this.#receiver,
      holds: async () => this.#holds && deliveries.hold(this.#holder),
      now,
      tell: (event) => this.#tell(subscription, event),
    })
    const started = { run, text: JSON.stringify(subscription) }
    this.#runs.set(name, started)
    return started
  }

  async #endAll(): Promise<void> {
    const ended = [...this.#runs.values()].map(({ run }) => run.end())
    this.#runs.clear()
    await Promise.all(ended)
    this.#note()
  }

  async #release(): Promise<void> {
    if (this.#holds) await this.#parts.deliveries.release(this.#holder).catch(() => undefined)
    this.#holds = false
  }

  #tell(subscription: Subscription, event: RunEvent): void {
    const { log, meters } = this.#parts
    const { name } = subscription
    const about = { subscription: name, to: new URL(subscription.url).host }
    meters.count(name, event)
    switch (event.kind) {
      case 'taken':
        this.#taken(subscription, event.id)
        return
      case 'works':
        log.warn(about, 'events are taken again')
        return
      case 'failed':
        if (event.attempts > 1) return
        this.#note()
        log.error(
          { ...about, reason: event.why },
          'an event was not taken, or may not be sent: it is tried again for three days',
        )
        return
      case 'buried':
        this.#parts.noteSent({ subscription, isTaken: false, last: event.letter.event, events: 1 })
        log.error({ ...about, id: event.letter.id, reason: event.letter.why }, 'an event is a dead letter now')
        return
      case 'gone':
        log.error(about, 'the receiver wants no more events (410): run `sallyport events redeliver` when it does')
        return
      case 'unkept':
        log.error(
          { ...about, err: event.error },
          'it can not be kept which events were taken: after a new start they are sent again',
        )
    }
  }

  #taken(subscription: Subscription, last: string): void {
    const { events = 0 } = this.#sent.get(subscription.name) ?? {}
    if (this.#sent.size === 0) setTimeout(() => this.#note(), NOTED_EACH_MS).unref()
    this.#sent.set(subscription.name, { subscription, isTaken: true, last, events: events + 1 })
  }

  #note(): void {
    for (const sent of this.#sent.values()) this.#parts.noteSent(sent)
    this.#sent.clear()
  }
}
