/** The contract's SigningKeys in a table of an SQL database. */
import type { SigningKeys, StoredKeys } from '../signing-keys.ts'
import { type InstanceDatabase, makeMissing } from './instances.ts'
import { type SqlDialect, type SqlValue, sql } from './statement.ts'

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

class SqlSigningKeys implements SigningKeys {
  readonly #database: InstanceDatabase
  readonly #dialect: SqlDialect

  constructor(database: InstanceDatabase) {
    this.#database = database
    this.#dialect = database.dialect
  }

  async read(): Promise<StoredKeys> {
    const { now, told } = this.#dialect
    // Without keys, this is one row that has only the time.
    const rows = await this.#database.ask(
      sql(`select ${now}, k.number, k.text, k.created_at, k.tokens_end_at
        from (select 1) as one left join signing_keys k on true order by k.number`),
    )
    const keys = rows.filter(([, number]) => number !== null)
    return {
      now: Number(rows[0]?.[0]),
      keys: keys.map(([, number, text, createdAt, tokensEndAt]) => ({
        number: Number(number),
        text: told(text),
        createdAt: Number(createdAt),
        tokensEndAt: Number(tokensEndAt),
      })),
    }
  }

  add(number: number, text: string): Promise<boolean> {
    return this.#changes(
      `insert into signing_keys (number, text, created_at, tokens_end_at)
        select cast($1 as bigint), cast($2 as text), ${this.#dialect.now}, 0
        where cast($1 as bigint) = (select coalesce(max(number), 0) + 1 from signing_keys)
        on conflict do nothing returning number`,
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
