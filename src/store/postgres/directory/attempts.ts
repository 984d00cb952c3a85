/** The contract's Attempts on PostgreSQL. */

import type { Attempts, Counters, JudgedAttempts } from '../../attempts.ts'
import type { Ask } from '../../sql/statement.ts'
import type { Connections } from '../connections/connections.ts'
import { DIALECT } from '../dialect.ts'
import { answering } from '../failures.ts'
import { decodeText, encodeText } from '../stored-text.ts'

/** Expired counters are deleted a few at a time, together with changes of other counters. */
const SWEPT_AT_ONCE = 10

const FIND = 'select key, failures, at, expires_at from attempts where key = any($1::text[]) and expires_at > $2'

const PUT = `insert into attempts (key, failures, at, expires_at) values ($1, $2, $3, $4) on conflict (key) do update
  set failures = excluded.failures, at = excluded.at, expires_at = excluded.expires_at`

const DROP = 'delete from attempts where key = $1'

const SWEEP = `delete from attempts where key in (
  select key from attempts where expires_at <= ${DIALECT.endedBy('$1')} limit $2)`

export class PostgresAttempts implements Attempts {
  readonly #connections: Connections
  readonly #now: () => Date

  constructor(connections: Connections, now: () => Date) {
    this.#connections = connections
    this.#now = now
  }

  /** A refused attempt writes nothing, so that refusals wait for no disk. */
  async count<T>(keys: readonly string[], judge: (counters: Counters) => JudgedAttempts<T>): Promise<T> {
    const { verdict, changes } = judge(await this.#read((statement) => this.#connections.quick(statement), keys))
    if (!changes) return verdict
    return answering(() =>
      this.#connections.writer.transaction(async (ask) => this.#change(ask, judge(await this.#read(ask, keys)))),
    )
  }

  async #read(ask: Ask, keys: readonly string[]): Promise<Counters> {
    const rows = await ask({ text: FIND, values: [keys.map(encodeText), this.#now().getTime()] })
    return new Map(
      rows.map(([key, failures, at, expiresAt]) => {
        const counter = { failures: Number(failures), at: Number(at), expiresAt: Number(expiresAt) }
        return [decodeText(String(key)), counter]
      }),
    )
  }

  async #change<T>(ask: Ask, { verdict, changes }: JudgedAttempts<T>): Promise<T> {
    for (const [key, counter] of changes ?? []) {
      if (!counter) await ask({ text: DROP, values: [encodeText(key)] })
      else await ask({ text: PUT, values: [encodeText(key), counter.failures, counter.at, counter.expiresAt] })
    }
    if (changes) await ask({ text: SWEEP, values: [this.#now().getTime(), SWEPT_AT_ONCE] })
    return verdict
  }
}
