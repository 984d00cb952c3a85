/** Named values next to the objects: secrets that instances share, and marks that describe the data. */
import { randomBytes } from 'node:crypto'
import { StoreUnavailable } from '../errors.ts'
import { type SqlDialect, type SqlEngine, type Statement, sql } from './statement.ts'

const SECRET_BYTES = 32

/** The mark that the readiness check writes. */
export const PROBED = 'probed'

export function readSecret(name: string): Statement {
  return sql('select value from secrets where name = $1', name)
}

/** The secret with this name. A new one is made, unless another process has made it before. */
export async function sharedSecret({ ask, change }: SqlEngine, name: string): Promise<Uint8Array> {
  const [found] = await ask(readSecret(name))
  if (found) return found[0] as Uint8Array
  const made = randomBytes(SECRET_BYTES)
  await change(sql('insert into secrets (name, value) values ($1, $2) on conflict do nothing', name, made))
  const [kept] = await ask(readSecret(name))
  if (!kept) throw new StoreUnavailable(new Error('the secret was deleted while it was stored'))
  return kept[0] as Uint8Array
}

export function readMark(name: string): Statement {
  return sql('select value from marks where name = $1', name)
}

export function writeMark(name: string, value: string): Statement {
  return sql(
    'insert into marks (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value',
    name,
    value,
  )
}

export function dropMark(name: string): Statement {
  return sql('delete from marks where name = $1', name)
}

/** Marks whose names begin alike, with a space at the end. Each says when it was written, by the clock of the database. */
export interface DatedMarks {
  readonly beginning: string
  /** So many of the newest ones. */
  readonly most: number
  /** In bytes; a longer one is left out, and not even read. */
  readonly longest: number
  readonly sinceMs?: number
}

/** Milliseconds since the epoch have 13 digits from 2001 to 2286. */
const DATE = 'substr(value, 1, 13)'
const LONGEST_NAME = 1000
const BEGINS = 'name >= $1 and name < $2'

export function writeDatedMark({ now, text }: SqlDialect, name: string, value: string): Statement {
  return sql(
    `insert into marks (name, value) values ($1, cast(${now} as text) || ' ' || $2)
      on conflict (name) do update set value = excluded.value`,
    name,
    text(value),
  )
}

/** Each by the rest of its name; the newest first. */
export async function datedMarks(
  { ask, dialect }: Pick<SqlEngine, 'ask' | 'dialect'>,
  { beginning, most, longest, sinceMs }: DatedMarks,
): Promise<readonly (readonly [rest: string, value: string])[]> {
  const since = sinceMs === undefined ? '' : `and ${DATE} >= cast(${dialect.now} - ${sinceMs} as text)`
  const rows = await ask(
    sql(
      `select name, value from marks where ${BEGINS} and length(name) <= ${LONGEST_NAME}
        and octet_length(value) <= $3 ${since} order by ${DATE} desc, name limit $4`,
      beginning,
      endOf(beginning),
      longest,
      most,
    ),
  )
  // A space follows the date.
  return rows.map(([name, value]) => [String(name).slice(beginning.length), dialect.fromStored(value).slice(14)])
}

export function dropBefore({ now }: SqlDialect, beginning: string, sinceMs: number): Statement {
  const old = `${DATE} < cast(${now} - ${sinceMs} as text)`
  return sql(`delete from marks where ${BEGINS} and ${old}`, beginning, endOf(beginning))
}

export function dropAllButNewest({ beginning, most }: Pick<DatedMarks, 'beginning' | 'most'>): Statement {
  const newest = `select name from marks where ${BEGINS} order by ${DATE} desc, name limit $3`
  return sql(`delete from marks where ${BEGINS} and name not in (${newest})`, beginning, endOf(beginning), most)
}

/** The first name after those that begin so. */
function endOf(beginning: string): string {
  return `${beginning.slice(0, -1)}!`
}
