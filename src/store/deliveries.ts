/**
 * How far each subscription of subscriptions.yaml is, and the events that its receiver didn't take. One process of all
 * that share the database delivers.
 */

/** Of one subscription. */
export interface DeliveryState {
  /** The id of the last event that is done with; undefined before the first. */
  readonly after?: string | undefined
  /** Since when nothing was taken, although something was sent: RFC 3339. */
  readonly failingSince?: string
  /** How often since then. */
  readonly attempts?: number
  /** The next attempt: milliseconds since the epoch. */
  readonly nextAt?: number
  /** Why the last attempt failed, or why nothing can be sent. */
  readonly why?: string
  /** The key may not follow the events, so nothing was sent. */
  readonly isRefused?: true
  /** The address that wants nothing more (410). */
  readonly gone?: string
}

/** An event that nobody took: not its content, which is decided again when it is sent again. */
export interface DeadLetter {
  /** As the receiver was told it. */
  readonly id: string
  /** Of the event. */
  readonly event: string
  /** The id of the event before it; undefined before the first. */
  readonly after?: string
  readonly type: string
  /** When it was given up: RFC 3339. */
  readonly at: string
  readonly why: string
  /** Somebody wants it to be sent again. */
  readonly isDue?: true
}

/**
 * What a command asks of the process that delivers. `retry`: try again now, and send the letters that are due. `skip`:
 * give up the event that is tried.
 */
export type DeliveryOrder = 'retry' | 'skip'

/** By the names of subscriptions. */
export interface KeptDeliveries {
  readonly states: ReadonlyMap<string, DeliveryState>
  readonly orders: ReadonlyMap<string, readonly DeliveryOrder[]>
}

/** For each subscription; the oldest are dropped. */
export const MOST_DEAD_LETTERS = 1000

/** Every method throws StoreUnavailable. */
export interface Deliveries {
  /** Whether this holder, and no other one, delivers for the next seconds; as `Outbox.hold`. */
  hold(holder: string): Promise<boolean>
  release(holder: string): Promise<void>
  kept(): Promise<KeptDeliveries>
  /** In the order of the events. */
  letters(subscription: string): Promise<readonly DeadLetter[]>
  keep(subscription: string, state: DeliveryState): Promise<void>
  /** Replaces the letter with the same id. The oldest letters make room. */
  bury(subscription: string, letter: DeadLetter): Promise<void>
  /** Drops a letter that was taken. */
  unbury(subscription: string, letter: string): Promise<void>
  order(subscription: string, order: DeliveryOrder): Promise<void>
  /** The order was carried out. */
  ordered(subscription: string, order: DeliveryOrder): Promise<void>
}
