/** The contract's Attempts in a table of an SQL database. */
import type { Attempts, Counter, Counters, JudgedAttempts } from '../directory.ts'
import { StoreUnavailable } from '../errors.ts'
import { read, type SqlEngine, sql, type Work } from './statement.ts'

/** Expired counters are deleted a few at a time, together with changes of other counters. */
const SWEPT_AT_ONCE = 10

/** Whoever comes late was overtaken by another one, so this is far more than happens. */
const MOST_TRIES = 1000

const PUT = `insert into attempts (key, failures, at, expires_at) values ($1, $2, $3, $4) on conflict (key) do update
  set failures = excluded.failures, at = excluded.at, expires_at = excluded.expires_at`

/** New values of counters, which rest on those that were seen. Plain data. */
export interface CounterChange {
  readonly keys: readonly string[]
  readonly seen: Counters
  readonly changes: ReadonlyMap<string, Counter | undefined>
}

/** The counters in their table. */
export class SqlCounters {
  readonly #engine: SqlEngine

  constructor(engine: SqlEngine) {
    this.#engine = engine
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
    const found = new Map<string, Counter>()
    const find = 'select failures, at, expires_at from attempts where key = $1 and expires_at > $2'
    for (const key of keys) {
      const [row] = yield sql(find, dialect.text(key), now().getTime())
      if (row) found.set(key, { failures: Number(row[0]), at: Number(row[1]), expiresAt: Number(row[2]) })
    }
    return found
  }

  *#put({ keys, seen, changes }: CounterChange): Work<Counters | undefined> {
    const { dialect, now } = this.#engine
    const found = yield* this.#read(keys)
    if (!keys.every((key) => isSame(found.get(key), seen.get(key)))) return found
    for (const [key, counter] of changes) {
      if (!counter) yield sql('delete from attempts where key = $1', dialect.text(key))
      else yield sql(PUT, dialect.text(key), counter.failures, counter.at, counter.expiresAt)
    }
    const expired = `select key from attempts where expires_at <= ${dialect.endedBy('$1')} limit $2`
    yield sql(`delete from attempts where key in (${expired})`, now().getTime(), SWEPT_AT_ONCE)
    return undefined
  }
}

export class SqlAttempts implements Attempts {
  readonly #counters: Pick<SqlCounters, 'read' | 'put'>

  constructor(counters: Pick<SqlCounters, 'read' | 'put'>) {
    this.#counters = counters
  }

  /** A refused attempt writes nothing, so that refusals wait for no disk. */
  async count<T>(keys: readonly string[], judge: (counters: Counters) => JudgedAttempts<T>): Promise<T> {
    let seen = await this.#counters.read(keys)
    for (let tries = 1; tries <= MOST_TRIES; tries += 1) {
      const { verdict, changes } = judge(seen)
      const others = changes && (await this.#counters.put({ keys, seen, changes }))
      if (!others) return verdict
      seen = others
    }
    throw new StoreUnavailable(new Error('others change the counters of failed sign-ins all the time'))
  }
}

function isSame(one: Counter | undefined, other: Counter | undefined): boolean {
  if (!one || !other) return one === other
  return one.failures === other.failures && one.at === other.at && one.expiresAt === other.expiresAt
}
