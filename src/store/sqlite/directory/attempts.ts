/** The contract's Attempts on SQLite. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Attempts, Counter, Counters, JudgedAttempts } from '../../attempts.ts'
import { StoreUnavailable } from '../../errors.ts'
import type { GroupCommits } from '../commits/commits.ts'
import { answering } from '../database.ts'

/** Expired counters are deleted a few at a time, together with changes of other counters. */
const SWEPT_AT_ONCE = 10

/** Whoever comes late was overtaken by another one, so this is far more than happens. */
const MOST_TRIES = 1000

const PUT = `insert into attempts (key, failures, at, expires_at) values (?, ?, ?, ?) on conflict (key) do update
  set failures = excluded.failures, at = excluded.at, expires_at = excluded.expires_at`

const SWEEP = 'delete from attempts where key in (select key from attempts where expires_at <= ? limit ?)'

/** New values of counters, which rest on those that were seen. Plain data. */
export interface CounterChange {
  readonly keys: readonly string[]
  readonly seen: Counters
  readonly changes: ReadonlyMap<string, Counter | undefined>
}

/** The counters in their table. */
export class SqliteCounters {
  readonly #commits: GroupCommits
  readonly #now: () => Date
  readonly #find: StatementSync
  readonly #put: StatementSync
  readonly #drop: StatementSync
  readonly #sweep: StatementSync

  constructor(database: DatabaseSync, commits: GroupCommits, now: () => Date) {
    this.#commits = commits
    this.#now = now
    this.#find = database.prepare(
      'select failures, at, expires_at as expiresAt from attempts where key = ? and expires_at > ?',
    )
    this.#put = database.prepare(PUT)
    this.#drop = database.prepare('delete from attempts where key = ?')
    this.#sweep = database.prepare(SWEEP)
  }

  read(keys: readonly string[]): Counters {
    return answering(() => this.#read(keys))
  }

  /** Undefined when it is done. The counters as they are now if they aren't those that were seen; nothing is changed then. */
  put({ keys, seen, changes }: CounterChange): Promise<Counters | undefined> {
    const change = () => {
      const found = this.#read(keys)
      if (!keys.every((key) => isSame(found.get(key), seen.get(key)))) return found
      this.#change(changes)
      return undefined
    }
    return this.#commits.write(() => answering(change))
  }

  #read(keys: readonly string[]): Counters {
    const now = this.#now().getTime()
    const found = keys.map((key) => [key, this.#find.get(key, now) as unknown as Counter | undefined] as const)
    return new Map(found.flatMap(([key, counter]) => (counter ? [[key, counter]] : [])))
  }

  #change(changes: CounterChange['changes']): void {
    for (const [key, counter] of changes) {
      if (counter) this.#put.run(key, counter.failures, counter.at, counter.expiresAt)
      else this.#drop.run(key)
    }
    this.#sweep.run(this.#now().getTime(), SWEPT_AT_ONCE)
  }
}

export class SqliteAttempts implements Attempts {
  readonly #counters: Pick<SqliteCounters, 'read' | 'put'>

  constructor(counters: Pick<SqliteCounters, 'read' | 'put'>) {
    this.#counters = counters
  }

  /** A refused attempt writes nothing, so that refusals cost no fsync. */
  async count<T>(keys: readonly string[], judge: (counters: Counters) => JudgedAttempts<T>): Promise<T> {
    let seen = this.#counters.read(keys)
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
