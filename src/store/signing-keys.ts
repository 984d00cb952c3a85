/**
 * The signing keys of the servers that share a database. The texts are opaque here: whoever reads one checks it. Times
 * are milliseconds since the epoch by the clock of the database, because the clocks of instances may differ.
 * test/store/contract-signing-keys.ts tests every engine.
 */
import { type InstanceDatabase, makeMissing } from './sql/instances.ts'
import { done, type SqlDialect, type SqlValue, sql, type Work } from './sql/statement.ts'

export interface StoredKey {
  /** Counts from 1. The key with the highest number signs. */
  readonly number: number
  readonly text: string
  readonly createdAt: number
  /** The end of the longest token that was noted; 0 without any. */
  readonly tokensEndAt: number
}

export interface StoredKeys {
  /** The time of the reading. */
  readonly now: number
  /** By number. */
  readonly keys: readonly StoredKey[]
}

/** One of the keys that a database begins with; `createdAt` is the time of the database if it is absent. */
export type FirstKey = Omit<StoredKey, 'createdAt'> & Partial<StoredKey>

/** Any method throws StoreUnavailable. Every change is durable when it returns. */
export interface SigningKeys {
  /** Sees everything that any instance changed before the call. Each process of each instance asks once a second. */
  read(): Promise<StoredKeys>
  /** Stores these keys if the database has no key yet. Otherwise it stores nothing, and returns false. */
  begin(keys: readonly FirstKey[]): Promise<boolean>
  /**
   * False, and nothing is stored, unless the number is the one after the last key's: of several callers with one
   * number, one wins.
   */
  add(number: number, text: string): Promise<boolean>
  /** False, and nothing is changed, unless the key has the text `from`. */
  replace(number: number, from: string, to: string): Promise<boolean>
  /** A token of the key lasts so long from now; an earlier end than the noted one changes nothing. False without the key. */
  noteToken(number: number, lastsMs: number): Promise<boolean>
  /** Keeps the key with the highest number. */
  remove(number: number): Promise<void>
  close(): Promise<void>
}

// The contract's SigningKeys in a table of an SQL database.

/** Times in milliseconds since the epoch. */
function signingKeysTable({ number, strict }: SqlDialect): string {
  return `create table if not exists signing_keys (
    number ${number} primary key not null, text text not null, created_at ${number} not null,
    tokens_end_at ${number} not null) ${strict}`
}

/** Creates a missing table. Closes the database when it throws. */
export async function signingKeysIn(database: InstanceDatabase): Promise<SigningKeys> {
  await makeMissing(database, { statements: [signingKeysTable(database.dialect)], last: 'signing_keys' })
  return new SqlSigningKeys(database)
}

/** The table must be there. */
export function* storedKeys({ now, fromStored }: SqlDialect): Work<StoredKeys> {
  // Without keys, this is one row that has only the time.
  const rows = yield sql(`select ${now}, k.number, k.text, k.created_at, k.tokens_end_at
    from (select 1) as one left join signing_keys k on true order by k.number`)
  const keys = rows.filter(([, number]) => number !== null)
  return {
    now: Number(rows[0]?.[0]),
    keys: keys.map(([, number, text, createdAt, tokensEndAt]) => ({
      number: Number(number),
      text: fromStored(text),
      createdAt: Number(createdAt),
      tokensEndAt: Number(tokensEndAt),
    })),
  }
}

class SqlSigningKeys implements SigningKeys {
  readonly #database: InstanceDatabase
  readonly #dialect: SqlDialect

  constructor(database: InstanceDatabase) {
    this.#database = database
    this.#dialect = database.dialect
  }

  async read(): Promise<StoredKeys> {
    return done(storedKeys(this.#dialect), (statement) => this.#database.ask(statement))
  }

  async begin(keys: readonly FirstKey[]): Promise<boolean> {
    const { now, text: stored } = this.#dialect
    const insert = `insert into signing_keys (number, text, created_at, tokens_end_at)
      values ($1, $2, coalesce(cast($3 as bigint), ${now}), $4)`
    // A look waits for no lock.
    if ((await this.read()).keys.length > 0) return false
    let begun = false
    await this.#database.make(function* () {
      begun = (yield sql('select 1 from signing_keys limit 1')).length === 0
      if (!begun) return
      for (const { number, text, createdAt = null, tokensEndAt } of keys)
        yield sql(insert, number, stored(text), createdAt, tokensEndAt)
    })
    return begun
  }

  add(number: number, text: string): Promise<boolean> {
    return this.#changes(
      `insert into signing_keys (number, text, created_at, tokens_end_at)
        select cast($1 as bigint), cast($2 as text), ${this.#dialect.now}, 0 where cast($1 as bigint) =
          (select coalesce(max(number), 0) + 1 from signing_keys) on conflict do nothing returning number`,
      number,
      this.#dialect.text(text),
    )
  }

  replace(number: number, from: string, to: string): Promise<boolean> {
    const { text, sought } = this.#dialect
    const replace = 'update signing_keys set text = $3 where number = $1 and text = $2 returning number'
    return this.#changes(replace, number, sought(from), text(to))
  }

  noteToken(number: number, lastsMs: number): Promise<boolean> {
    const { now, greatest } = this.#dialect
    const end = `${greatest}(tokens_end_at, ${now} + cast($2 as bigint))`
    const note = `update signing_keys set tokens_end_at = ${end} where number = $1 returning number`
    return this.#changes(note, number, Math.ceil(lastsMs))
  }

  async remove(number: number): Promise<void> {
    const isOld = 'number < (select max(number) from signing_keys)'
    await this.#database.change(sql(`delete from signing_keys where number = $1 and ${isOld}`, number))
  }

  close(): Promise<void> {
    return this.#database.close()
  }

  async #changes(text: string, ...values: readonly SqlValue[]): Promise<boolean> {
    return (await this.#database.change(sql(text, ...values))).length === 1
  }
}
