/** The contract's SigningKeys in a SQLite file, on a connection of their own. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { StoreUnavailable } from '../../errors.ts'
import type { SigningKeys, StoredKey, StoredKeys } from '../../signing-keys.ts'
import { answering, inTransaction, openDatabaseFile } from '../database.ts'

/** Times in milliseconds since the epoch. */
const TABLE = `
  create table if not exists signing_keys (
    number integer primary key not null,
    text text not null,
    created_at integer not null,
    tokens_end_at integer not null) strict`

/** The engine's own clock, in milliseconds. */
const NOW = "cast(unixepoch('subsec') * 1000 as integer)"

/** A missing file is created; its folder must exist. Throws StoreUnavailable. */
export async function openSqliteSigningKeys(file: string): Promise<SigningKeys> {
  const database = answering(() => openDatabaseFile(file))
  try {
    // Creating what exists already would wait for the lock of another process.
    const made = database.prepare("select 1 from sqlite_schema where name = 'signing_keys'").get()
    if (!made) inTransaction(database, () => database.exec(TABLE))
    return new SqliteSigningKeys(database)
  } catch (error) {
    database.close()
    throw new StoreUnavailable(error)
  }
}

class SqliteSigningKeys implements SigningKeys {
  readonly #database: DatabaseSync
  readonly #now: StatementSync
  readonly #all: StatementSync
  readonly #add: StatementSync
  readonly #replace: StatementSync
  readonly #noteToken: StatementSync
  readonly #remove: StatementSync

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#now = database.prepare(`select ${NOW} as now`)
    this.#all = database.prepare(`
      select number, text, created_at as createdAt, tokens_end_at as tokensEndAt from signing_keys order by number`)
    this.#add = database.prepare(`
      insert into signing_keys (number, text, created_at, tokens_end_at)
      select ?1, ?2, ${NOW}, 0 where ?1 = (select coalesce(max(number), 0) + 1 from signing_keys)`)
    this.#replace = database.prepare('update signing_keys set text = ?3 where number = ?1 and text = ?2')
    this.#noteToken = database.prepare(`
      update signing_keys set tokens_end_at = max(tokens_end_at, ${NOW} + ?2) where number = ?1`)
    this.#remove = database.prepare(`
      delete from signing_keys where number = ? and number < (select max(number) from signing_keys)`)
  }

  async read(): Promise<StoredKeys> {
    return answering(() => ({
      keys: this.#all.all() as unknown as readonly StoredKey[],
      now: Number(this.#now.get()?.now),
    }))
  }

  async add(number: number, text: string): Promise<boolean> {
    return this.#change(() => this.#add.run(number, text).changes > 0)
  }

  async replace(number: number, from: string, to: string): Promise<boolean> {
    return this.#change(() => this.#replace.run(number, from, to).changes > 0)
  }

  async noteToken(number: number, lastsMs: number): Promise<boolean> {
    return this.#change(() => this.#noteToken.run(number, Math.ceil(lastsMs)).changes > 0)
  }

  async remove(number: number): Promise<void> {
    this.#change(() => this.#remove.run(number))
  }

  async close(): Promise<void> {
    if (this.#database.isOpen) answering(() => this.#database.close())
  }

  #change<T>(work: () => T): T {
    return answering(() => inTransaction(this.#database, work))
  }
}
