/** The contract's PolicyVersions in a SQLite file, on a connection of their own. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { StoreUnavailable } from '../../errors.ts'
import {
  type DatabaseIdentity,
  FORGOTTEN_AFTER_MS,
  type InstanceNote,
  identityIn,
  LONGEST_SIGNED,
  type NewVersion,
  newIdentity,
  type PolicyVersions,
  type StoredVersion,
} from '../../policy-versions.ts'
import { answering, inTransaction, openDatabaseFile } from '../database.ts'

const TABLES = `
  create table if not exists policy_versions (number integer primary key not null, signed text not null) strict;
  create table if not exists policy_files (digest text primary key not null, content text not null) strict;

  -- Times in milliseconds since the epoch.
  create table if not exists policy_instances (
    name text primary key not null, state text not null, at integer not null) strict;

  -- One row: the id of the database, and a JSON list of the digests of the versions that were there before it.
  create table if not exists policy_database (
    one integer primary key not null, id text not null, former text not null) strict`

/** Somebody may have changed the text of a stored file: whoever publishes the file again repairs it. */
const KEEP_FILE = `insert into policy_files (digest, content) values (?, ?)
  on conflict (digest) do update set content = excluded.content where content != excluded.content`

/** The engine's own clock, in milliseconds. */
const NOW = "cast(unixepoch('subsec') * 1000 as integer)"

const NOTE = `insert into policy_instances (name, state, at) values (?, ?, ${NOW})
  on conflict (name) do update set state = excluded.state, at = excluded.at`

/** A missing file is created; its folder must exist. Throws StoreUnavailable. */
export async function openSqlitePolicyVersions(file: string): Promise<PolicyVersions> {
  const database = answering(() => openDatabaseFile(file))
  try {
    // Creating what exists already would wait for the lock of another process.
    if (!isMade(database)) inTransaction(database, () => make(database))
    return new SqlitePolicyVersions(database)
  } catch (error) {
    database.close()
    throw new StoreUnavailable(error)
  }
}

function isMade(database: DatabaseSync): boolean {
  const table = database.prepare("select 1 from sqlite_schema where name = 'policy_database'").get()
  return table !== undefined && database.prepare('select 1 from policy_database').get() !== undefined
}

function make(database: DatabaseSync): void {
  database.exec(TABLES)
  // Of two processes that start together, the second one finds it made.
  if (isMade(database)) return
  const signed = database.prepare('select signed from policy_versions').all()
  const { id, former } = newIdentity(signed.map((row) => String(row.signed)))
  const insert = database.prepare('insert into policy_database (one, id, former) values (1, ?, ?)')
  insert.run(id, JSON.stringify(former))
}

class SqlitePolicyVersions implements PolicyVersions {
  readonly #database: DatabaseSync
  readonly #home: StatementSync
  readonly #latest: StatementSync
  readonly #last: StatementSync
  readonly #get: StatementSync
  readonly #all: StatementSync
  readonly #file: StatementSync
  readonly #keepFile: StatementSync
  readonly #publish: StatementSync
  readonly #note: StatementSync
  readonly #forget: StatementSync
  readonly #sweep: StatementSync
  readonly #instances: StatementSync

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#home = database.prepare('select id, former from policy_database')
    this.#latest = database.prepare('select coalesce(max(number), 0) as number from policy_versions')
    const signed = `substr(signed, 1, ${LONGEST_SIGNED}) as signed`
    this.#last = database.prepare(`select number, ${signed} from policy_versions order by number desc limit 1`)
    this.#get = database.prepare('select signed from policy_versions where number = ?')
    this.#all = database.prepare('select number, signed from policy_versions order by number')
    this.#file = database.prepare('select content from policy_files where digest = ?')
    this.#keepFile = database.prepare(KEEP_FILE)
    this.#publish = database.prepare('insert into policy_versions (number, signed) values (?, ?)')
    this.#note = database.prepare(NOTE)
    this.#forget = database.prepare('delete from policy_instances where name = ?')
    this.#sweep = database.prepare(`delete from policy_instances where at < ${NOW} - ${FORGOTTEN_AFTER_MS}`)
    this.#instances = database.prepare(
      `select name, state, max(0, ${NOW} - at) as ageMs from policy_instances order by name`,
    )
  }

  async home(): Promise<DatabaseIdentity> {
    return answering(() => {
      const row = this.#home.get()
      return identityIn(row?.id, row?.former)
    })
  }

  async latest(): Promise<number> {
    return answering(() => this.#lastNumber())
  }

  async last(): Promise<StoredVersion | undefined> {
    return answering(() => this.#last.get() as unknown as StoredVersion | undefined)
  }

  async get(number: number): Promise<string | undefined> {
    return answering(() => this.#get.get(number)?.signed as string | undefined)
  }

  async all(): Promise<readonly StoredVersion[]> {
    return answering(() => this.#all.all() as unknown as readonly StoredVersion[])
  }

  async file(digest: string): Promise<string | undefined> {
    return answering(() => this.#file.get(digest)?.content as string | undefined)
  }

  async publish({ number, signed, files }: NewVersion): Promise<boolean> {
    return this.#change(() => {
      if (number !== this.#lastNumber() + 1) return false
      for (const [digest, text] of files) this.#keepFile.run(digest, text)
      this.#publish.run(number, signed)
      return true
    })
  }

  async note(name: string, state: string): Promise<void> {
    this.#change(() => {
      this.#note.run(name, state)
      this.#sweep.run()
    })
  }

  async forget(name: string): Promise<void> {
    this.#change(() => this.#forget.run(name))
  }

  async instances(): Promise<readonly InstanceNote[]> {
    return answering(() => this.#instances.all() as unknown as readonly InstanceNote[])
  }

  async close(): Promise<void> {
    if (this.#database.isOpen) answering(() => this.#database.close())
  }

  #lastNumber(): number {
    return Number(this.#latest.get()?.number)
  }

  #change<T>(work: () => T): T {
    return answering(() => inTransaction(this.#database, work))
  }
}
