/** The tables of PostgreSQL: those of the store, of the directory, and one for each resource. */

import { quoteName } from '../../sql/quote.ts'
import { AFTER_INSERTED_USER, afterDeletedUser } from '../../sql/tables.ts'
import { DIALECT } from '../dialect.ts'
import { nameOf } from './names.ts'

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

function triggered(name: string, does: string): string {
  const head = `create or replace function ${name}() returns trigger language plpgsql set search_path from current`
  return `${head} as $$ begin ${does} return null; end $$`
}
