/** Deliveries are marks: small texts by name. They end a month after they were last written. */
import {
  type DeadLetter,
  type Deliveries,
  type DeliveryOrder,
  type DeliveryState,
  type KeptDeliveries,
  MOST_DEAD_LETTERS,
} from '../deliveries.ts'
import { Lease } from './lease.ts'
import { type DatedMarks, datedMarks, dropAllButNewest, dropBefore, dropMark, writeDatedMark } from './named-values.ts'
import type { SqlEngine } from './statement.ts'

/** A process that delivers asks each second. */
const HOLD_MS = 5000
const KEPT_MS = 31 * 86_400_000
/** Subscriptions that were removed are among them for a month. */
const MOST_SUBSCRIPTIONS = 1000
/** In bytes. */
const LONGEST = 4096

const STATES = kind('delivery state ', MOST_SUBSCRIPTIONS)
const ORDERS = kind('delivery order ', MOST_SUBSCRIPTIONS)
const LETTERS = kind('dead letter ', MOST_DEAD_LETTERS)

function lettersOf(subscription: string): typeof LETTERS {
  return { ...LETTERS, beginning: `${LETTERS.beginning}${subscription} ` }
}

function kind(beginning: string, most: number): DatedMarks & { readonly sinceMs: number } {
  return { beginning, most, longest: LONGEST, sinceMs: KEPT_MS }
}

export class SqlDeliveries implements Deliveries {
  readonly #engine: SqlEngine
  readonly #lease: Lease

  constructor(engine: SqlEngine) {
    this.#engine = engine
    this.#lease = new Lease(engine, { name: 'deliveries', holdMs: HOLD_MS })
  }

  hold(holder: string): Promise<boolean> {
    return this.#lease.hold(holder)
  }

  release(holder: string): Promise<void> {
    return this.#lease.release(holder)
  }

  async kept(): Promise<KeptDeliveries> {
    const orders = Map.groupBy(await this.#read(ORDERS), ([name]) => name.split(' ')[0] ?? '')
    return {
      states: new Map((await this.#read(STATES)) as readonly [string, DeliveryState][]),
      orders: new Map([...orders].map(([name, marks]) => [name, marks.map(([, order]) => order as DeliveryOrder)])),
    }
  }

  async letters(subscription: string): Promise<readonly DeadLetter[]> {
    const found = (await this.#read(lettersOf(subscription))).map(([, letter]) => letter as DeadLetter)
    return found.toSorted((a, b) => Number.parseInt(a.event, 10) - Number.parseInt(b.event, 10))
  }

  async keep(subscription: string, state: DeliveryState): Promise<void> {
    await this.#write(`${STATES.beginning}${subscription}`, state)
  }

  async bury(subscription: string, letter: DeadLetter): Promise<void> {
    const { write, dialect } = this.#engine
    const own = lettersOf(subscription)
    await write(function* () {
      yield writeDatedMark(dialect, `${own.beginning}${letter.id}`, JSON.stringify(letter))
      yield dropAllButNewest(own)
      for (const { beginning, sinceMs } of [STATES, LETTERS]) yield dropBefore(dialect, beginning, sinceMs)
    })
  }

  async unbury(subscription: string, letter: string): Promise<void> {
    await this.#engine.changeSoon(dropMark(`${lettersOf(subscription).beginning}${letter}`))
  }

  async order(subscription: string, order: DeliveryOrder): Promise<void> {
    await this.#write(`${ORDERS.beginning}${subscription} ${order}`, order)
  }

  async ordered(subscription: string, order: DeliveryOrder): Promise<void> {
    await this.#engine.changeSoon(dropMark(`${ORDERS.beginning}${subscription} ${order}`))
  }

  async #write(name: string, value: unknown): Promise<void> {
    const { changeSoon, dialect } = this.#engine
    await changeSoon(writeDatedMark(dialect, name, JSON.stringify(value)))
  }

  async #read(marks: DatedMarks): Promise<readonly (readonly [rest: string, value: unknown])[]> {
    return (await datedMarks(this.#engine, marks)).map(([rest, text]) => [rest, JSON.parse(text)])
  }
}
