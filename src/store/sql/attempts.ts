/** The contract's Attempts in a table of an SQL database. */
import type { Attempts, Counter, Counters, JudgedAttempts } from '../directory.ts'
import { read, type SqlDialect, type SqlEngine, sql, type Work } from './statement.ts'

/** Expired counters are deleted a few at a time, together with changes of other counters. */
const SWEPT_AT_ONCE = 10

const find = ({ elements }: SqlDialect) => `select key, failures, at, expires_at from attempts
  where key in (select k.value ->> 0 from ${elements('$1')} as k) and expires_at > $2`

const PUT = `insert into attempts (key, failures, at, expires_at) values ($1, $2, $3, $4) on conflict (key) do update
  set failures = excluded.failures, at = excluded.at, expires_at = excluded.expires_at`

/** New values of counters, which rest on those that were seen. Plain data. */
export interface CounterChange {
  readonly keys: readonly string[]
  readonly seen: Counters
  readonly changes: ReadonlyMap<string, Counter | undefined>
}

/** The counters in their table. */
export class SqlCounters implements Attempts {
  readonly #engine: SqlEngine
  #last: Promise<unknown> = Promise.resolve()

  constructor(engine: SqlEngine) {
    this.#engine = engine
  }

  /** A refused attempt writes nothing, so that refusals wait for no disk. */
  async count<T>(keys: readonly string[], judge: (counters: Counters) => JudgedAttempts<T>): Promise<T> {
    const { verdict, changes } = judge(await this.read(keys))
    if (!changes) return verdict
    // One at a time, so that no other writes wait for many attempts. Those before may have used up what was free.
    const mine = this.#last.then(() => this.#engine.write(() => this.#judged(keys, judge)))
    this.#last = mine.catch(() => undefined)
    return mine
  }

  read(keys: readonly string[]): Promise<Counters> {
    return read(this.#engine, this.#read(keys))
  }

  /** Undefined when it is done. The counters as they are now if they aren't those that were seen; nothing is changed then. */
  put(change: CounterChange): Promise<Counters | undefined> {
    return this.#engine.write(() => this.#put(change))
  }

  *#read(keys: readonly string[]): Work<Counters> {
    const { dialect, now } = this.#engine
    const sought = JSON.stringify(keys.map((key) => [dialect.text(key)]))
    const rows = yield sql(find(dialect), sought, now().getTime())
    return new Map(
      rows.map(([key, failures, at, expiresAt]) => {
        return [dialect.fromStored(key), { failures: Number(failures), at: Number(at), expiresAt: Number(expiresAt) }]
      }),
    )
  }

  *#judged<T>(keys: readonly string[], judge: (counters: Counters) => JudgedAttempts<T>): Work<T> {
    const { verdict, changes } = judge(yield* this.#read(keys))
    if (changes) yield* this.#change(changes)
    return verdict
  }

  *#put({ keys, seen, changes }: CounterChange): Work<Counters | undefined> {
    const found = yield* this.#read(keys)
    if (!keys.every((key) => isSame(found.get(key), seen.get(key)))) return found
    yield* this.#change(changes)
    return undefined
  }

  *#change(changes: CounterChange['changes']): Work<void> {
    const { dialect, now } = this.#engine
    for (const [key, counter] of changes) {
      if (!counter) yield sql('delete from attempts where key = $1', dialect.text(key))
      else yield sql(PUT, dialect.text(key), counter.failures, counter.at, counter.expiresAt)
    }
    const expired = `select key from attempts where expires_at <= ${dialect.endedBy('$1')} limit $2`
    yield sql(`delete from attempts where key in (${expired})`, now().getTime(), SWEPT_AT_ONCE)
  }
}

function isSame(one: Counter | undefined, other: Counter | undefined): boolean {
  if (!one || !other) return one === other
  return one.failures === other.failures && one.at === other.at && one.expiresAt === other.expiresAt
}
