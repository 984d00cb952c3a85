/** The contract's PolicyVersions on PostgreSQL. Each method is one statement. */
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
import { clientOptions, DEFAULT_SETTINGS } from '../connections/client-options.ts'
import type { Row } from '../connections/connection.ts'
import { Line } from '../connections/line.ts'
import type { Ask } from '../connections/writer.ts'
import { answering, asOfContract } from '../failures.ts'
import { tablesIn } from '../layout/migrate.ts'
import { migrating } from '../layout/migrating.ts'
import type { SqlValue } from '../query/statement.ts'
import { decodeText, encodeText } from '../stored-text.ts'

export const POLICY_VERSION_TABLES = [
  'create table if not exists policy_versions (number bigint primary key, signed text not null)',
  'create table if not exists policy_files (digest text collate "C" primary key, content text not null)',
  // Times in milliseconds since the epoch.
  `create table if not exists policy_instances (
    name text collate "C" primary key, state text not null, at bigint not null)`,
  // One row: the id of the database, and a JSON list of the digests of the versions that were there before it.
  'create table if not exists policy_database (one bigint primary key, id text not null, former text not null)',
]

/** The database's own clock, in milliseconds. */
const NOW = '(extract(epoch from clock_timestamp()) * 1000)::bigint'

/**
 * Of publishers with one number, one inserts it, and only that one stores its files. Somebody may have changed the text
 * of a stored file: whoever publishes the file again repairs it.
 */
const PUBLISH = `with made as (
    insert into policy_versions (number, signed) select $1::bigint, $2::text
    where $1::bigint = (select coalesce(max(number), 0) + 1 from policy_versions) on conflict do nothing returning number),
  kept as (
    insert into policy_files (digest, content) select f.digest, f.content
    from made, unnest($3::text[], $4::text[]) as f(digest, content)
    on conflict (digest) do update set content = excluded.content where policy_files.content <> excluded.content)
  select number from made`

const NOTE = `with swept as (
    delete from policy_instances where at < ${NOW} - ${FORGOTTEN_AFTER_MS} and name <> $1)
  insert into policy_instances (name, state, at) values ($1, $2, ${NOW})
  on conflict (name) do update set state = excluded.state, at = excluded.at`

/** It names no statements, so a pooler may stand between. */
const SETTINGS = { ...DEFAULT_SETTINGS, pooler: 'transaction' } as const

/** A lost connection must not hold up the next look for long. */
const LOOK_SILENCE_MS = 900
/** The texts of a large policy may take so long. */
const SILENCE_MS = 10_000

/** On two connections. Creates missing tables. Throws StoreUnavailable. */
export async function openPostgresPolicyVersions(url: string): Promise<PolicyVersions> {
  const client = clientOptions(url, SETTINGS)
  const looks = new Line({ client, silenceMs: LOOK_SILENCE_MS })
  const line = new Line({ client, silenceMs: SILENCE_MS })
  try {
    if (!(await isMade((asked) => line.ask(asked)))) await migrating(url, SETTINGS, make)
    return new PostgresPolicyVersions(looks, line)
  } catch (error) {
    await line.close()
    throw asOfContract(error)
  }
}

async function isMade(ask: Ask): Promise<boolean> {
  if (!(await tablesIn(ask)).has('policy_database')) return false
  return (await ask({ text: 'select 1 from policy_database', values: [] })).length > 0
}

async function make(ask: Ask): Promise<void> {
  for (const text of POLICY_VERSION_TABLES) await ask({ text, values: [] })
  // Of two instances that start together, the second one finds it made.
  if (await isMade(ask)) return
  const signed = await ask({ text: 'select signed from policy_versions', values: [] })
  const { id, former } = newIdentity(signed.map(([text]) => decodeText(String(text))))
  const text = 'insert into policy_database (one, id, former) values (1, $1, $2)'
  await ask({ text, values: [id, JSON.stringify(former)] })
}

class PostgresPolicyVersions implements PolicyVersions {
  /** For looks alone: they don't wait behind a text that is read, or a note that is committed. */
  readonly #looks: Line
  readonly #line: Line

  constructor(looks: Line, line: Line) {
    this.#looks = looks
    this.#line = line
  }

  async home(): Promise<DatabaseIdentity> {
    return answering(async () => {
      const [row] = await this.#line.ask({ text: 'select id, former from policy_database', values: [] })
      return identityIn(row?.[0], row?.[1])
    })
  }

  async latest(): Promise<number> {
    const [row] = await this.#ask('select coalesce(max(number), 0) from policy_versions')
    return Number(row?.[0])
  }

  async last(): Promise<StoredVersion | undefined> {
    const signed = `left(signed, ${LONGEST_SIGNED}) as signed`
    const text = `select number, ${signed} from policy_versions order by number desc limit 1`
    const [row] = await answering(() => this.#looks.ask({ text, values: [] }))
    return row && storedVersion(row)
  }

  async get(number: number): Promise<string | undefined> {
    return textIn(await this.#ask('select signed from policy_versions where number = $1', number))
  }

  async all(): Promise<readonly StoredVersion[]> {
    const rows = await this.#ask('select number, signed from policy_versions order by number')
    return rows.map(storedVersion)
  }

  async file(digest: string): Promise<string | undefined> {
    return textIn(await this.#ask('select content from policy_files where digest = $1', encodeText(digest)))
  }

  async publish({ number, signed, files }: NewVersion): Promise<boolean> {
    const [digests, contents] = [[...files.keys()].map(encodeText), [...files.values()].map(encodeText)]
    return (await this.#change(PUBLISH, number, encodeText(signed), digests, contents)).length === 1
  }

  async note(name: string, state: string): Promise<void> {
    await this.#change(NOTE, encodeText(name), encodeText(state))
  }

  async forget(name: string): Promise<void> {
    await this.#change('delete from policy_instances where name = $1', encodeText(name))
  }

  async instances(): Promise<readonly InstanceNote[]> {
    const rows = await this.#ask(`select name, state, greatest(0, ${NOW} - at) from policy_instances order by name`)
    return rows.map(([name, state, ageMs]) => {
      return { name: decodeText(String(name)), state: decodeText(String(state)), ageMs: Number(ageMs) }
    })
  }

  async close(): Promise<void> {
    await Promise.all([this.#looks.close(), this.#line.close()])
  }

  #ask(text: string, ...values: readonly SqlValue[]): Promise<readonly Row[]> {
    return answering(() => this.#line.ask({ text, values }))
  }

  #change(text: string, ...values: readonly SqlValue[]): Promise<readonly Row[]> {
    return answering(() => this.#line.change({ text, values }))
  }
}

function storedVersion([number, signed]: Row): StoredVersion {
  return { number: Number(number), signed: decodeText(String(signed)) }
}

function textIn([row]: readonly Row[]): string | undefined {
  return row && decodeText(String(row[0]))
}
