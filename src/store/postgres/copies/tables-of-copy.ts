/** Which tables are in a copy of a PostgreSQL database. Only rows are copied: this program knows the tables themselves. */
import { policyVersionTables } from '../../sql/policy-versions.ts'
import { signingKeysTable } from '../../sql/signing-keys.ts'
import { directoryTables, storeTables } from '../../sql/tables.ts'
import { DIALECT } from '../dialect.ts'
import { TABLE_PREFIX } from '../layout/names.ts'
import { OWN_TABLES } from '../layout/tables.ts'

/** The part that names the tables. */
export const TABLES_PART = 'tables.json'

export interface CopiedTable {
  readonly table: string
  readonly columns: readonly string[]
}

export interface TablesPart {
  readonly layout: number
  /** The sequence of the outbox is no part of its rows. */
  readonly lastWrite: number
  /** The parts of table 0 are `0/0`, `0/1` and so on. */
  readonly tables: readonly CopiedTable[]
}

/** Tables that some databases don't have: a server makes them when it needs them. */
export const OPTIONAL_TABLES: readonly string[] = [...policyVersionTables(DIALECT), signingKeysTable(DIALECT)]

/** They belong to running servers, or are made with the layout. */
const LEFT_OUT: ReadonlySet<string> = new Set(['layout', 'turns', 'leases', 'policy_instances'])

const KNOWN: ReadonlySet<string> = new Set(
  [...OWN_TABLES, ...storeTables(DIALECT), ...directoryTables(DIALECT), ...OPTIONAL_TABLES].flatMap(
    (text) => tableIn(text) ?? [],
  ),
)

export function isCopied(table: string): boolean {
  return (KNOWN.has(table) && !LEFT_OUT.has(table)) || table.startsWith(TABLE_PREFIX)
}

/** Whether it belongs to this program, copied or not. */
export function isOfProgram(table: string): boolean {
  return KNOWN.has(table) || table.startsWith(TABLE_PREFIX)
}

export function tableIn(statement: string): string | undefined {
  return /^create table if not exists (?<name>\w+)/.exec(statement)?.groups?.name
}
