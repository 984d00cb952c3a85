/**
 * Sends the events of one subscription, one after the other. An event that isn't taken is tried again for three days, and
 * all later ones wait for it; then it is a dead letter. Each attempt opens the stream again, so it is decided again too.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Subscription } from '../../decide/policy.ts'
import { TRIED_FOR_MS } from '../../policy/parse/parse-subscriptions.ts'
import type { DeadLetter, Deliveries, DeliveryOrder, DeliveryState } from '../../store/deliveries.ts'
import { remoteReason } from '../observe/remote-reason.ts'
import type { EventFeed, StreamedEvent } from './event-feed.ts'
import { type OpenStream, StreamRefused } from './own-streams.ts'
import { NotAccepted, type WebhookReceiver } from './receiver.ts'
import { signedHeaders } from './signature.ts'

export interface RunParts {
  readonly subscription: Subscription
  readonly secrets: readonly string[]
  readonly deliveries: Pick<Deliveries, 'keep' | 'letters' | 'bury' | 'unbury'>
  readonly open: OpenStream
  readonly receiver: Pick<WebhookReceiver, 'post'>
  /** Whether this process still delivers, and no other one. */
  readonly holds: () => Promise<boolean>
  readonly now: () => Date
  readonly tell: (event: RunEvent) => void
}

export type RunEvent =
  | { readonly kind: 'taken'; readonly id: string }
  | { readonly kind: 'failed'; readonly why: string; readonly attempts: number }
  /** After failures. */
  | { readonly kind: 'works' }
  | { readonly kind: 'buried'; readonly letter: DeadLetter }
  /** 410: nothing is sent until somebody asks for it. */
  | { readonly kind: 'gone' }
  /** The state can't be kept: after a new start, events are sent again. */
  | { readonly kind: 'unkept'; readonly error: unknown }

const FIRST_WAIT_MS = 5000
const LONGEST_WAIT_MS = 4 * 3_600_000
/** The clock of `now` may be set. */
const LOOK_MS = 250
const BETWEEN_STREAMS_MS = 250
/** A key that may follow again is noticed soon. */
const LONGEST_REFUSED_MS = 300_000
const GONE = 410

export class SubscriptionRun {
  readonly #parts: RunParts
  readonly #ending = new AbortController()
  readonly #running: Promise<void>
  #state: DeliveryState
  readonly #orders = new Set<DeliveryOrder>()
  #feed: EventFeed | undefined

  constructor(state: DeliveryState, parts: RunParts) {
    this.#state = state
    this.#parts = parts
    this.#running = this.#run()
  }

  get state(): DeliveryState {
    return this.#state
  }

  obey(order: DeliveryOrder): void {
    this.#orders.add(order)
    // Letters are sent between two streams.
    if (order === 'retry') this.#feed?.close()
  }

  async end(): Promise<void> {
    this.#ending.abort()
    this.#feed?.close()
    await this.#running
    await this.#keeping
  }

  get #isEnding(): boolean {
    return this.#ending.signal.aborted
  }

  async #run(): Promise<void> {
    while (!this.#isEnding) {
      await this.#wait()
      const begun = performance.now()
      await this.#attempt().catch((error: unknown) => (this.#isEnding ? undefined : this.#failed(error)))
      this.#orders.delete('skip')
      // A process that doesn't deliver, or a stream that ends at once, isn't asked again at once.
      if (performance.now() - begun < BETWEEN_STREAMS_MS) await this.#sleep(BETWEEN_STREAMS_MS)
    }
  }

  async #attempt(): Promise<void> {
    if (this.#isEnding || !(await this.#parts.holds())) return
    if (this.#orders.delete('retry')) await this.#sendLetters()
    await this.#follow(await this.#open(this.#state.after))
  }

  /** Until the next attempt is due. */
  async #wait(): Promise<void> {
    const { url } = this.#parts.subscription
    const isDue = () => this.#state.gone !== url && (this.#state.nextAt ?? 0) <= this.#parts.now().getTime()
    while (!this.#isEnding && this.#orders.size === 0 && !isDue()) await this.#sleep(LOOK_MS)
  }

  async #sleep(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#ending.signal, ref: false }).catch(() => undefined)
  }

  async #open(after: string | undefined): Promise<EventFeed> {
    const { subscription, open } = this.#parts
    const feed = await open({ key: subscription.key, path: subscription.path, after }, this.#ending.signal)
    this.#feed = feed
    return feed
  }

  async #follow(feed: EventFeed): Promise<void> {
    if (this.#state.isRefused) this.#keep({ after: this.#state.after })
    try {
      for (let event = await feed.next(); event && !this.#isEnding; event = await feed.next()) {
        if (event.kind !== undefined && !(await this.#deliver(event))) return
        if (event.id !== this.#state.after) this.#keep({ after: event.id })
      }
    } finally {
      feed.close()
    }
  }

  /** Whether the receiver has taken the event, or somebody wants it to be skipped. Throws why it wasn't taken. */
  async #deliver(event: StreamedEvent): Promise<boolean> {
    if (!(await this.#parts.holds())) return false
    try {
      await this.#send(event, this.#idOf(event))
    } catch (error) {
      const isSkipped = this.#orders.delete('skip')
      if (!this.#isEnding && (isSkipped || this.#isGivenUp())) await this.#bury(event, error)
      if (isSkipped) return true
      throw error
    }
    this.#orders.delete('skip')
    this.#parts.tell({ kind: 'taken', id: event.id })
    if (this.#state.failingSince !== undefined) this.#parts.tell({ kind: 'works' })
    return true
  }

  async #send(event: StreamedEvent, id: string): Promise<void> {
    const { subscription, receiver, secrets, now } = this.#parts
    const type = typeOf(subscription, event)
    const body = `{"type":${JSON.stringify(type)},"timestamp":${JSON.stringify(event.at ?? now().toISOString())},"data":${event.data}}`
    const headers = signedHeaders({ id, seconds: Math.floor(now().getTime() / 1000), body }, secrets)
    await receiver.post(new URL(subscription.url), body, headers, this.#ending.signal)
  }

  /** The same for each attempt. What came before a `reset` doesn't matter any more, so each attempt may have its own. */
  #idOf({ id, kind }: StreamedEvent): string {
    const number = `${this.#parts.subscription.name}.${Number.parseInt(id, 10)}`
    return kind === 'reset' ? `${number}.reset.${this.#parts.now().getTime()}` : number
  }

  #isGivenUp(): boolean {
    const { failingSince } = this.#state
    return failingSince !== undefined && this.#parts.now().getTime() - Date.parse(failingSince) >= TRIED_FOR_MS
  }

  async #bury(event: StreamedEvent, error: unknown): Promise<void> {
    const { subscription, deliveries, now, tell } = this.#parts
    const { after } = this.#state
    const letter: DeadLetter = {
      id: this.#idOf(event),
      event: event.id,
      ...(after === undefined ? {} : { after }),
      type: typeOf(subscription, event),
      at: now().toISOString(),
      why: remoteReason(error),
    }
    await deliveries.bury(subscription.name, letter)
    tell({ kind: 'buried', letter })
    this.#keep({ ...this.#state, after: event.id })
  }

  async #failed(error: unknown): Promise<void> {
    const { now, subscription, tell } = this.#parts
    const { after, failingSince = now().toISOString(), attempts = 0 } = this.#state
    const why = error instanceof StreamRefused ? error.message : remoteReason(error)
    const failing = { after, failingSince, attempts: attempts + 1, why }
    if (error instanceof NotAccepted && error.status === GONE) {
      this.#keep({ ...failing, gone: subscription.url })
      tell({ kind: 'gone' })
      return
    }
    const longest = error instanceof StreamRefused ? LONGEST_REFUSED_MS : LONGEST_WAIT_MS
    const wait = Math.min(FIRST_WAIT_MS * 3 ** attempts, longest) * (0.75 + Math.random() / 2)
    this.#keep({
      ...failing,
      nextAt: Math.round(now().getTime() + wait),
      ...(error instanceof StreamRefused && { isRefused: true }),
    })
    tell({ kind: 'failed', why, attempts: attempts + 1 })
  }

  /** What can't be kept is known to this process all the same. */
  #keep(state: DeliveryState): void {
    this.#state = state
    this.#keeping ??= this.#keepLast().finally(() => {
      this.#keeping = undefined
    })
  }

  #keeping: Promise<void> | undefined

  /** Nothing waits for the disk: of states that follow each other at once, the last one is kept. */
  async #keepLast(): Promise<void> {
    const { subscription, deliveries, tell } = this.#parts
    for (let kept: DeliveryState | undefined; kept !== this.#state; ) {
      kept = this.#state
      await deliveries.keep(subscription.name, kept).catch((error: unknown) => tell({ kind: 'unkept', error }))
    }
  }

  // ---- Dead letters -------------------------------------------------------------------------------------------------

  /** Those that somebody wants to be sent again. Throws at the first that isn't taken: the others stay due. */
  async #sendLetters(): Promise<void> {
    const { deliveries, subscription, tell } = this.#parts
    const { gone: _, nextAt: __, ...state } = this.#state
    this.#keep(state)
    for (const letter of await deliveries.letters(subscription.name)) {
      if (!letter.isDue || this.#isEnding) continue
      await this.#sendLetter(letter)
      await deliveries.unbury(subscription.name, letter.id)
      tell({ kind: 'taken', id: letter.event })
    }
  }

  /** As the key would see it now; where it can't be told any more, the receiver must read its list again. */
  async #sendLetter(letter: DeadLetter): Promise<void> {
    const feed = await this.#open(letter.after)
    try {
      const event = await feed.next()
      const isSame = event?.id === letter.event && event.kind !== 'reset'
      const reset = { id: letter.event, kind: 'reset', data: '{"reason":"missed"}', at: undefined }
      await (isSame ? this.#send(event, letter.id) : this.#send(reset, this.#idOf(reset)))
    } finally {
      feed.close()
    }
  }
}

function typeOf({ resource }: Subscription, { kind }: StreamedEvent): string {
  return `${resource}.${kind}`
}
