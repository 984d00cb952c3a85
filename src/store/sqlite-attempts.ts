/** The contract's Attempts on SQLite. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Kysely } from 'kysely'
import type { Attempts, Counter, Counters, Judged } from './attempts.ts'
import { inTransaction } from './node-sqlite.ts'
import { answering } from './sqlite-errors.ts'
import type { Tables } from './sqlite-schema.ts'

/** Counters that have expired go a few at a time, with the changes of others. */
const SWEPT_AT_ONCE = 10

export class SqliteAttempts implements Attempts {
  readonly #database: DatabaseSync
  readonly #now: () => Date
  readonly #find: StatementSync
  readonly #put: StatementSync
  readonly #drop: StatementSync
  readonly #sweep: StatementSync

  constructor(db: Kysely<Tables>, database: DatabaseSync, now: () => Date) {
    const queries = compile(db)
    this.#database = database
    this.#now = now
    this.#find = database.prepare(queries.find)
    this.#put = database.prepare(queries.put)
    this.#drop = database.prepare(queries.drop)
    this.#sweep = database.prepare(queries.sweep)
  }

  /** Who is refused writes nothing, so that refusals cost no fsync. */
  async count<T>(keys: readonly string[], judge: (counters: Counters) => Judged<T>): Promise<T> {
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

  #change<T>({ verdict, changes }: Judged<T>): T {
    for (const [key, counter] of changes ?? []) {
      if (counter) this.#put.run(key, counter.failures, counter.at, counter.expiresAt)
      else this.#drop.run(key)
    }
    if (changes) this.#sweep.run(this.#now().getTime(), SWEPT_AT_ONCE)
    return verdict
  }
}

/** As in sqlite-table.ts: each call binds its own values in the order written here. */
function compile(db: Kysely<Tables>) {
  const put = db
    .insertInto('attempts')
    .values({ key: '', failures: 0, at: 0, expires_at: 0 })
    .onConflict((conflict) =>
      conflict.column('key').doUpdateSet((eb) => ({
        failures: eb.ref('excluded.failures'),
        at: eb.ref('excluded.at'),
        expires_at: eb.ref('excluded.expires_at'),
      })),
    )
  const expired = db.selectFrom('attempts').select('key').where('expires_at', '<=', 0).limit(0)
  return {
    find: db
      .selectFrom('attempts')
      .select(['failures', 'at', 'expires_at as expiresAt'])
      .where('key', '=', '')
      .where('expires_at', '>', 0)
      .compile().sql,
    put: put.compile().sql,
    drop: db.deleteFrom('attempts').where('key', '=', '').compile().sql,
    sweep: db.deleteFrom('attempts').where('key', 'in', expired).compile().sql,
  }
}
