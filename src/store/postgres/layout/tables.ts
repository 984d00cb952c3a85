/** The tables of PostgreSQL: those of the store, of the directory, and one for each resource. */

import { addChangeSql } from '../../sql/changes.ts'
import type { IndexedTable, TablePlan } from '../../sql/indexes.ts'
import { quoteLiteral, quoteName, sql } from '../../sql/statement.ts'
import { AFTER_INSERTED_USER, afterDeletedUser } from '../../sql/tables.ts'
import { DIALECT } from '../dialect.ts'
import { brokenConstraint } from '../failures.ts'
import { indexedSql, uniqueSql } from '../query/condition.ts'
import { nameOf } from '../stored-text.ts'

/** Those that SQLite doesn't need. */
export const OWN_TABLES = [
  'create table if not exists layout (number integer not null)',
  // One row. Whoever has changed it is the only one that writes, until the transaction ends.
  'create table if not exists turns (taken bigint not null)',
]

/** `document` is JSON text, as JSON.stringify writes it; `keys` and `times` are of the same document (keys.ts). */
export function objectTable(table: string): string {
  return `create table if not exists ${quoteName(table)} (
    id text collate "C" not null, version bigint not null, created_at text collate "C" not null,
    updated_at text collate "C" not null, document text not null, keys jsonb not null, times jsonb not null,
    constraint ${quoteName(idConstraint(table))} primary key (id))`
}

/** The name of the constraint that an id is taken once. */
export function idConstraint(table: string): string {
  return nameOf(`${table} id`)
}

export function directoryTriggers(users: string): readonly string[] {
  return [
    triggered('users_deleted', afterDeletedUser(DIALECT)),
    triggered('users_inserted', AFTER_INSERTED_USER),
    ...['deleted after delete', 'inserted after insert'].map((what) => {
      const name = `users_${what.split(' ')[0]}`
      return `create trigger users_${what} on ${quoteName(users)} for each row execute function ${name}()`
    }),
  ]
}

/** What a write says of itself, to the trigger that logs its changes: JSON, or nothing. */
export const WRITE_SETTING = 'sallyport.write'

/** Whoever writes takes the write lock, programs of others too: the numbers grow in the order of the commits. */
export function changesFunction(): string {
  const written = `nullif(current_setting('${WRITE_SETTING}', true), '')::jsonb`
  const clock = `to_char(clock_timestamp() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
  const adds = addChangeSql({
    resource: 'tg_argv[0]',
    at: `coalesce(write ->> 'time', new.updated_at, ${clock})`,
    writtenBy: `write ->> 'by'`,
    of: (column) => `coalesce(new.${column}, old.${column})`,
    sides: ['old', 'new'],
  })
  return `create or replace function changes_kept() returns trigger language plpgsql set search_path from current
    as $$ declare write jsonb := ${written}; begin perform 1 from turns for update; ${adds} return null; end $$`
}

export const CHANGES_TRIGGER = 'changes_kept'

export function changesTrigger({ resource, table }: Pick<TablePlan, 'resource' | 'table'>): string {
  return `create trigger ${CHANGES_TRIGGER} after insert or update or delete on ${quoteName(table)}
    for each row execute function changes_kept(${quoteLiteral(resource)})`
}

function triggered(name: string, does: string): string {
  const head = `create or replace function ${name}() returns trigger language plpgsql set search_path from current`
  return `${head} as $$ begin ${does} return null; end $$`
}

/** The name of the index that keeps these fields unique, which errors name. */
export function uniqueIndex(table: string, fields: readonly string[]): string {
  return nameOf(`${table} ${fields.join(' ')} unique`)
}

export function indexesOf({ resource, table, unique, orders }: TablePlan): IndexedTable {
  return {
    resource,
    table,
    unique: unique.map(({ field, fields }) => {
      return {
        field,
        name: uniqueIndex(table, fields),
        terms: uniqueSql(fields, '')
          .map((one) => `${one} nulls first`)
          .join(),
      }
    }),
    // The id is the last key, so that the index returns objects with the same values in the order of a list.
    ordered: orders.map((keys) => ({
      name: nameOf(`${[table, ...keys.map(({ field, by }) => `${field} ${by}`)].join(' ')} ordered`),
      terms: [...keys.map(indexedSql), 'id'].join(),
    })),
    present: sql(
      `select indexname, indexdef like 'CREATE UNIQUE%' from pg_indexes
        where schemaname = current_schema() and tablename = $1 and indexname <> $2`,
      table,
      idConstraint(table),
    ),
    breaksUnique: (error) => brokenConstraint(error) !== undefined,
  }
}
