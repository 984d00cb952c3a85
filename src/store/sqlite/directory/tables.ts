/**
 * The tables of the directory, and the triggers that clean up after a deleted users record, so that no writer can
 * forget to.
 */
import type { DatabaseSync } from 'node:sqlite'
import { quoteName } from '../../sql/quote.ts'
import type { TablePlan } from '../layout/schema.ts'

/** `users`: the table of the people; undefined where no schema declares them. */
export function createDirectory(database: DatabaseSync, users: TablePlan | undefined): void {
  createAccounts(database)
  createSessions(database)
  createApiKeys(database)
  if (users) createTriggers(database, users)
}

/** The subjects that have a password, are disabled, or had a users record that was deleted. */
function createAccounts(database: DatabaseSync): void {
  database.exec(`create table if not exists accounts (
    user_id text primary key not null, password_hash text, one_time integer not null, disabled integer not null,
    deleted integer not null, changed_at integer not null) strict`)
}

/** Only open sessions: a session that ends is deleted. */
function createSessions(database: DatabaseSync): void {
  database.exec(`create table if not exists sessions (
    id text primary key not null, user_id text not null, created_at integer not null, ends_at integer not null,
    idle_ends_at integer not null, family text not null, current text not null) strict`)
  database.exec(`create index if not exists "sessions user" on sessions (user_id)`)
  database.exec(`create index if not exists "sessions end" on sessions (min(ends_at, idle_ends_at))`)
}

/** `roles` is a JSON list. */
function createApiKeys(database: DatabaseSync): void {
  database.exec(`create table if not exists api_keys (
    id text primary key not null, secret_hash text not null, subject text not null, roles text not null,
    name text not null, created_at integer not null, expires_at integer not null, revoked_at integer,
    last_used_at integer) strict`)
  database.exec(`create index if not exists "api_keys subject" on api_keys (subject)`)
}

function createTriggers(database: DatabaseSync, { table }: TablePlan): void {
  database.exec(`create trigger if not exists "users deleted" after delete on ${quoteName(table)} begin
    insert into accounts values (old.id, null, 0, 0, 1, ${NOW})
      on conflict do update set password_hash = null, one_time = 0, deleted = 1, changed_at = excluded.changed_at;
    delete from sessions where user_id = old.id;
    update api_keys set revoked_at = ${NOW} where subject = old.id and revoked_at is null;
  end`)
  database.exec(`create trigger if not exists "users inserted" after insert on ${quoteName(table)} begin
    update accounts set deleted = 0 where user_id = new.id;
  end`)
}

/** The engine's own clock, in milliseconds: a trigger has no other clock. */
const NOW = "cast(unixepoch('subsec') * 1000 as integer)"
