/** The contract's Attempts on SQLite. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Attempts, Counter, Counters, JudgedAttempts } from '../../attempts.ts'
import { answering, inTransaction } from '../database.ts'

/** Expired counters are deleted a few at a time, together with changes of other counters. */
const SWEPT_AT_ONCE = 10

const PUT = `insert into attempts (key, failures, at, expires_at) values (?, ?, ?, ?) on conflict (key) do update
  set failures = excluded.failures, at = excluded.at, expires_at = excluded.expires_at`

const SWEEP = 'delete from attempts where key in (select key from attempts where expires_at <= ? limit ?)'

export class SqliteAttempts implements Attempts {
  readonly #database: DatabaseSync
  readonly #now: () => Date
  readonly #find: StatementSync
  readonly #put: StatementSync
  readonly #drop: StatementSync
  readonly #sweep: StatementSync

  constructor(database: DatabaseSync, now: () => Date) {
    this.#database = database
    this.#now = now
    this.#find = database.prepare(
      'select failures, at, expires_at as expiresAt from attempts where key = ? and expires_at > ?',
    )
    this.#put = database.prepare(PUT)
    this.#drop = database.prepare('delete from attempts where key = ?')
    this.#sweep = database.prepare(SWEEP)
  }

  /** A refused attempt writes nothing, so that refusals cost no fsync. */
  async count<T>(keys: readonly string[], judge: (counters: Counters) => JudgedAttempts<T>): Promise<T> {
    return answering(() => {
      const { verdict, changes } = judge(this.#read(keys))
      if (!changes) return verdict
      return inTransaction(this.#database, () => this.#change(judge(this.#read(keys))))
    })
  }

  #read(keys: readonly string[]): Counters {
    const now = this.#now().getTime()
    const found = keys.map((key) => [key, this.#find.get(key, now) as unknown as Counter | undefined] as const)
    return new Map(found.flatMap(([key, counter]) => (counter ? [[key, counter]] : [])))
  }

  #change<T>({ verdict, changes }: JudgedAttempts<T>): T {
    for (const [key, counter] of changes ?? []) {
      if (counter) this.#put.run(key, counter.failures, counter.at, counter.expiresAt)
      else this.#drop.run(key)
    }
    if (changes) this.#sweep.run(this.#now().getTime(), SWEPT_AT_ONCE)
    return verdict
  }
}
