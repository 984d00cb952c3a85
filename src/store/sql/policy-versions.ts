/** The contract's PolicyVersions in the tables of an SQL database. */
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
} from '../policy-versions.ts'
import { type InstanceDatabase, makeMissing } from './instances.ts'
import { type Row, type SqlDialect, type SqlValue, sql, type Work } from './statement.ts'

function policyVersionTables({ number, key, strict }: SqlDialect): readonly string[] {
  return [
    `create table if not exists policy_versions (number ${number} primary key not null, signed text not null) ${strict}`,
    `create table if not exists policy_files (digest ${key} primary key not null, content text not null) ${strict}`,
    // Times in milliseconds since the epoch.
    `create table if not exists policy_instances (
      name ${key} primary key not null, state text not null, at ${number} not null) ${strict}`,
    // One row: the id of the database, and a JSON list of the digests of the versions that were there before it.
    `create table if not exists policy_database (
      one ${number} primary key not null, id text not null, former text not null) ${strict}`,
  ]
}

const HOME = sql('select id, former from policy_database')

/** Creates missing tables. Closes the database when it throws. */
export async function policyVersionsIn(database: InstanceDatabase): Promise<PolicyVersions> {
  const { dialect } = database
  await makeMissing(database, {
    statements: policyVersionTables(dialect),
    last: 'policy_database',
    rows: HOME,
    fill: function* (): Work<void> {
      const signed = yield sql('select signed from policy_versions')
      const { id, former } = newIdentity(signed.map(([text]) => dialect.told(text)))
      yield sql('insert into policy_database (one, id, former) values (1, $1, $2)', id, JSON.stringify(former))
    },
  })
  return new SqlPolicyVersions(database)
}

class SqlPolicyVersions implements PolicyVersions {
  readonly #database: InstanceDatabase
  readonly #dialect: SqlDialect

  constructor(database: InstanceDatabase) {
    this.#database = database
    this.#dialect = database.dialect
  }

  async home(): Promise<DatabaseIdentity> {
    const [row] = await this.#database.ask(HOME)
    return identityIn(row?.[0], row?.[1])
  }

  async latest(): Promise<number> {
    const [row] = await this.#ask('select coalesce(max(number), 0) from policy_versions')
    return Number(row?.[0])
  }

  async last(): Promise<StoredVersion | undefined> {
    const signed = `substr(signed, 1, ${LONGEST_SIGNED})`
    const [row] = await this.#database.look(
      sql(`select number, ${signed} from policy_versions order by number desc limit 1`),
    )
    return row && this.#stored(row)
  }

  async get(number: number): Promise<string | undefined> {
    return this.#textIn(await this.#ask('select signed from policy_versions where number = $1', number))
  }

  async all(): Promise<readonly StoredVersion[]> {
    const rows = await this.#ask('select number, signed from policy_versions order by number')
    return rows.map((row) => this.#stored(row))
  }

  async file(digest: string): Promise<string | undefined> {
    const { sought } = this.#dialect
    return this.#textIn(await this.#ask('select content from policy_files where digest = $1', sought(digest)))
  }

  async publish({ number, signed, files }: NewVersion): Promise<boolean> {
    const { text, elements } = this.#dialect
    const [kept, texts] = [text(signed), [...files].map((file) => file.map(text))]
    const made = await this.#database.change(
      sql(
        `insert into policy_versions (number, signed) select cast($1 as bigint), cast($2 as text)
          where cast($1 as bigint) = (select coalesce(max(number), 0) + 1 from policy_versions)
          on conflict do nothing returning number`,
        number,
        kept,
      ),
      // Only whoever has published the version stores its files. Somebody may have changed the text of a stored file:
      // whoever publishes the file again repairs it.
      sql(
        `insert into policy_files (digest, content) select f.value ->> 0, f.value ->> 1 from ${elements('$3')} as f
          where exists (select 1 from policy_versions where number = $1 and signed = $2)
          on conflict (digest) do update set content = excluded.content
          where policy_files.content <> excluded.content`,
        number,
        kept,
        JSON.stringify(texts),
      ),
    )
    return made.length === 1
  }

  async note(name: string, state: string): Promise<void> {
    const { now, text } = this.#dialect
    await this.#database.change(
      sql(
        `insert into policy_instances (name, state, at) values ($1, $2, ${now})
          on conflict (name) do update set state = excluded.state, at = excluded.at`,
        text(name),
        text(state),
      ),
      sql(`delete from policy_instances where at < ${now} - ${FORGOTTEN_AFTER_MS}`),
    )
  }

  async forget(name: string): Promise<void> {
    await this.#database.change(sql('delete from policy_instances where name = $1', this.#dialect.sought(name)))
  }

  async instances(): Promise<readonly InstanceNote[]> {
    const { now, greatest, told } = this.#dialect
    const age = `${greatest}(0, ${now} - at)`
    const rows = await this.#ask(`select name, state, ${age} from policy_instances order by name`)
    return rows.map(([name, state, ageMs]) => ({ name: told(name), state: told(state), ageMs: Number(ageMs) }))
  }

  close(): Promise<void> {
    return this.#database.close()
  }

  #ask(text: string, ...values: readonly SqlValue[]): Promise<readonly Row[]> {
    return this.#database.ask(sql(text, ...values))
  }

  #stored([number, signed]: Row): StoredVersion {
    return { number: Number(number), signed: this.#dialect.told(signed) }
  }

  #textIn([row]: readonly Row[]): string | undefined {
    return row && this.#dialect.told(row[0])
  }
}
