/**
 * The published versions of the policy in a database, and what instances report about the versions that they follow. The
 * texts are opaque here: versions are signed, and whoever reads one verifies it. test/store/contract-policy-versions.ts
 * tests every engine.
 */
import { createHash, randomUUID } from 'node:crypto'
import { StoreUnavailable } from './errors.ts'
import { type InstanceDatabase, makeMissing } from './sql/instances.ts'
import { type Row, type SqlDialect, type SqlValue, sql, type Work } from './sql/statement.ts'

/** Which database this is. It is made when the program first opens the versions of a database, and never changes. */
interface DatabaseIdentity {
  readonly id: string
  /** The SHA-256 digests of the signed texts that were there before. */
  readonly former: readonly string[]
}

export interface StoredVersion {
  /** Counts from 1, without gaps. */
  readonly number: number
  /** The signed description of the version; it names its files by their digests. */
  readonly signed: string
}

interface NewVersion extends StoredVersion {
  /** The texts of the version's files, by digest. Files that earlier versions have too may be absent. */
  readonly files: ReadonlyMap<string, string>
}

/** A proposed version: nothing of it is in force. */
export interface StoredProposal {
  /** Counts from 1, without gaps. */
  readonly number: number
  readonly signed: string
}

/** A grant of a role for a time, or what somebody said about one. */
export interface GrantStatement {
  /** Counts from 1, without gaps. */
  readonly number: number
  readonly signed: string
}

/** What an instance reported last. */
export interface InstanceNote {
  readonly name: string
  readonly state: string
  /** By the clock of the database, because the clocks of instances may differ. */
  readonly ageMs: number
}

/** Any method throws StoreUnavailable. */
export interface PolicyVersions {
  home(): Promise<DatabaseIdentity>
  /** The number of the last version; 0 without any. */
  latest(): Promise<number>
  /**
   * The last version; of a longer text only the first LONGEST_SIGNED characters, which no key has signed; so too of other
   * versions. Each instance asks many times a second; it doesn't wait behind the other questions.
   */
  last(): Promise<StoredVersion | undefined>
  get(number: number): Promise<string | undefined>
  /** All versions, by number. */
  all(): Promise<readonly StoredVersion[]>
  /** The text of a file. */
  file(digest: string): Promise<string | undefined>
  /**
   * Durable when it returns true. False, and nothing is stored, unless the number is the one after the last version's:
   * of several publishers with one number, one wins.
   */
  publish(version: NewVersion): Promise<boolean>
  /** The number of the last proposal; 0 without any. */
  latestProposal(): Promise<number>
  /** Those with greater numbers, by number; at most `most`, and MOST_PROPOSALS without it. */
  proposalsAfter(number: number, most?: number): Promise<readonly StoredProposal[]>
  /** Durable when it returns true; false, and nothing is stored, unless the number is the one after the last proposal's. */
  propose(proposal: NewVersion): Promise<boolean>
  /** What people have signed about a proposal, in no order; at most MOST_SIGNATURES. */
  signaturesOf(proposal: number): Promise<readonly string[]>
  /** False, and nothing is stored, if the proposal has MOST_SIGNATURES. The same text is stored once. */
  addSignature(proposal: number, signed: string): Promise<boolean>
  /** What was said about roles for a time: with greater numbers, by number; at most MOST_PROPOSALS. */
  grantTextsAfter(number: number): Promise<readonly GrantStatement[]>
  /** The number of the last of them; 0 without any. */
  latestGrantText(): Promise<number>
  /** As `propose`. */
  addGrantText(statement: GrantStatement): Promise<boolean>
  /** Milliseconds since the epoch, by the clock of the database. */
  now(): Promise<number>
  /** Replaces what the instance reported before. Forgets instances that reported nothing for a day. */
  note(name: string, state: string): Promise<void>
  forget(name: string): Promise<void>
  /** By name. */
  instances(): Promise<readonly InstanceNote[]>
  close(): Promise<void>
}

/** Publishers write no longer text. Somebody else's could keep instances from reading anything. */
export const LONGEST_SIGNED = 100_000
const SIGNED = `substr(signed, 1, ${LONGEST_SIGNED})`

/** Rows that somebody else wrote with other numbers are none of the program: some fit no number of it. */
const LAST_NUMBER = 999_999_999
const IS_COUNTED = `number between 1 and ${LAST_NUMBER}`

/** In one answer. */
const MOST_PROPOSALS = 1000

/** For one proposal. */
const MOST_SIGNATURES = 200

/** Instances that reported nothing for so long are forgotten. */
const FORGOTTEN_AFTER_MS = 24 * 60 * 60 * 1000

// The contract's PolicyVersions in the tables of an SQL database.

/** Their rows count from 1. */
type NumberedTable = 'policy_versions' | 'policy_proposals' | 'policy_grants'

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
    `create table if not exists policy_proposals (
      number ${number} primary key not null, signed text not null) ${strict}`,
    `create table if not exists policy_signatures (
      digest ${key} primary key not null, proposal ${number} not null, signed text not null) ${strict}`,
    `create table if not exists policy_grants (number ${number} primary key not null, signed text not null) ${strict}`,
  ]
}

const HOME = sql('select id, former from policy_database')

/** Creates missing tables. Closes the database when it throws. */
export async function policyVersionsIn(database: InstanceDatabase): Promise<PolicyVersions> {
  const { dialect } = database
  await makeMissing(database, {
    statements: policyVersionTables(dialect),
    last: 'policy_grants',
    rows: HOME,
    fill: function* (): Work<void> {
      const signed = yield sql('select signed from policy_versions')
      const former = signed.map(([text]) => createHash('sha256').update(dialect.fromStored(text)).digest('hex'))
      const insert = 'insert into policy_database (one, id, former) values (1, $1, $2)'
      yield sql(insert, randomUUID(), JSON.stringify(former))
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
    const [id, former] = row ?? []
    if (typeof id === 'string' && typeof former === 'string') return { id, former: JSON.parse(former) }
    throw new StoreUnavailable(new Error('the table `policy_database` has lost its row; start again'))
  }

  latest(): Promise<number> {
    return this.#latestIn('policy_versions')
  }

  latestProposal(): Promise<number> {
    return this.#latestIn('policy_proposals')
  }

  async #latestIn(table: NumberedTable): Promise<number> {
    const [row] = await this.#ask(`select coalesce(max(number), 0) from ${table} where ${IS_COUNTED}`)
    return Number(row?.[0])
  }

  async last(): Promise<StoredVersion | undefined> {
    const [row] = await this.#database.look(
      sql(`select number, ${SIGNED} from policy_versions where ${IS_COUNTED} order by number desc limit 1`),
    )
    return row && this.#stored(row)
  }

  async get(number: number): Promise<string | undefined> {
    return this.#textIn(await this.#ask(`select ${SIGNED} from policy_versions where number = $1`, number))
  }

  async all(): Promise<readonly StoredVersion[]> {
    const rows = await this.#ask(`select number, ${SIGNED} from policy_versions where ${IS_COUNTED} order by number`)
    return rows.map((row) => this.#stored(row))
  }

  async file(digest: string): Promise<string | undefined> {
    const { sought } = this.#dialect
    return this.#textIn(await this.#ask('select content from policy_files where digest = $1', sought(digest)))
  }

  publish(version: NewVersion): Promise<boolean> {
    return this.#append('policy_versions', version)
  }

  propose(proposal: NewVersion): Promise<boolean> {
    return this.#append('policy_proposals', proposal)
  }

  async #append(table: NumberedTable, { number, signed, files }: NewVersion): Promise<boolean> {
    const { text, elements } = this.#dialect
    const [kept, texts] = [text(signed), [...files].map((file) => file.map(text))]
    const made = await this.#database.change(
      sql(
        `insert into ${table} (number, signed) select cast($1 as bigint), cast($2 as text)
          where cast($1 as bigint) = (select coalesce(max(number), 0) + 1 from ${table} where ${IS_COUNTED})
            and cast($1 as bigint) <= ${LAST_NUMBER}
          on conflict do nothing returning number`,
        number,
        kept,
      ),
      // Only whoever has stored the row stores its files. Somebody may have changed the text of a stored file: whoever
      // stores the file again repairs it.
      sql(
        `insert into policy_files (digest, content) select f.value ->> 0, f.value ->> 1 from ${elements('$3')} as f
          where exists (select 1 from ${table} where number = $1 and signed = $2)
          on conflict (digest) do update set content = excluded.content
          where policy_files.content <> excluded.content`,
        number,
        kept,
        JSON.stringify(texts),
      ),
    )
    return made.length === 1
  }

  proposalsAfter(number: number, most = MOST_PROPOSALS): Promise<readonly StoredProposal[]> {
    return this.#after('policy_proposals', number, most)
  }

  grantTextsAfter(number: number): Promise<readonly GrantStatement[]> {
    return this.#after('policy_grants', number, MOST_PROPOSALS)
  }

  latestGrantText(): Promise<number> {
    return this.#latestIn('policy_grants')
  }

  addGrantText(statement: GrantStatement): Promise<boolean> {
    return this.#append('policy_grants', { ...statement, files: new Map() })
  }

  async #after(table: NumberedTable, number: number, most: number): Promise<readonly StoredProposal[]> {
    const rows = await this.#ask(
      `select number, ${SIGNED} from ${table}
        where number > cast($1 as bigint) and ${IS_COUNTED} order by number limit cast($2 as bigint)`,
      number,
      most,
    )
    return rows.map((row) => this.#stored(row))
  }

  async signaturesOf(proposal: number): Promise<readonly string[]> {
    const rows = await this.#ask(
      `select ${SIGNED} from policy_signatures where proposal = $1 limit ${MOST_SIGNATURES}`,
      proposal,
    )
    return rows.map(([signed]) => this.#dialect.fromStored(signed))
  }

  async addSignature(proposal: number, signed: string): Promise<boolean> {
    const digest = createHash('sha256').update(signed).digest('hex')
    const { text } = this.#dialect
    await this.#database.change(
      sql(
        `insert into policy_signatures (digest, proposal, signed) select cast($1 as text), cast($2 as bigint), cast($3 as text)
          where (select count(*) from policy_signatures where proposal = $2) < ${MOST_SIGNATURES}
          on conflict (digest) do nothing`,
        text(digest),
        proposal,
        text(signed),
      ),
    )
    return (await this.signaturesOf(proposal)).includes(signed)
  }

  async now(): Promise<number> {
    const [row] = await this.#ask(`select ${this.#dialect.now}`)
    return Number(row?.[0])
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
    const { now, greatest, fromStored } = this.#dialect
    const age = `${greatest}(0, ${now} - at)`
    const rows = await this.#ask(`select name, state, ${age} from policy_instances order by name`)
    return rows.map(([name, state, ageMs]) => ({
      name: fromStored(name),
      state: fromStored(state),
      ageMs: Number(ageMs),
    }))
  }

  close(): Promise<void> {
    return this.#database.close()
  }

  #ask(text: string, ...values: readonly SqlValue[]): Promise<readonly Row[]> {
    return this.#database.ask(sql(text, ...values))
  }

  #stored([number, signed]: Row): StoredVersion {
    return { number: Number(number), signed: this.#dialect.fromStored(signed) }
  }

  #textIn([row]: readonly Row[]): string | undefined {
    return row && this.#dialect.fromStored(row[0])
  }
}
