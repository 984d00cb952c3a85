/** The tables of PostgreSQL: those of the store, of the directory, and one for each resource. */

import { quoteName } from '../../sql/quote.ts'
import { nameOf } from './names.ts'

/**
 * Times are milliseconds since the epoch. Texts compare by code points whatever the locale of the database, and stand
 * as src/store/postgres/stored-text.ts encodes them.
 */
export const STORE_TABLES = [
  'create table if not exists layout (number integer not null)',
  // One row. Whoever has changed it is the only one that writes, until the transaction ends.
  'create table if not exists turns (taken bigint not null)',
  `create table if not exists secrets (name text collate "C" primary key, value bytea not null)`,
  `create table if not exists marks (name text collate "C" primary key, value text not null)`,
  `create table if not exists outbox (
    sequence bigint generated always as identity primary key, record text not null)`,
  `create table if not exists leases (
    name text collate "C" primary key, holder text not null, renewals bigint not null)`,
  // The migrations that ran, or run: all objects up to a place (resource, id) are migrated.
  `create table if not exists migrations (
    number bigint primary key, name text not null, digest text not null, begun_at text not null, ended_at text,
    objects bigint not null, resource text, id text)`,
  // One row: the schemas that the data last fitted.
  'create table if not exists fitted_schemas (one bigint primary key, digest text not null, schemas text not null)',
  // The object is JSON, in its state at creation.
  `create table if not exists replays (
    subject text collate "C" not null, route text collate "C" not null, key text collate "C" not null,
    fingerprint text not null, object text not null, at bigint not null, primary key (subject, route, key))`,
  'create index if not exists "replays at" on replays (at)',
  `create table if not exists attempts (
    key text collate "C" primary key, failures bigint not null, at bigint not null, expires_at bigint not null)`,
  'create index if not exists "attempts expires" on attempts (expires_at)',
]

export const DIRECTORY_TABLES = [
  // The subjects that have a password, are disabled, or had a users record that was deleted.
  `create table if not exists accounts (
    user_id text collate "C" primary key, password_hash text, one_time boolean not null, disabled boolean not null,
    deleted boolean not null, changed_at bigint not null)`,
  // Only open sessions: a session that ends is deleted.
  `create table if not exists sessions (
    id text collate "C" primary key, user_id text collate "C" not null, created_at bigint not null,
    ends_at bigint not null, idle_ends_at bigint not null, family text not null, current text not null)`,
  'create index if not exists "sessions user" on sessions (user_id)',
  'create index if not exists "sessions end" on sessions (least(ends_at, idle_ends_at))',
  // `roles` is a JSON list.
  `create table if not exists api_keys (
    id text collate "C" primary key, secret_hash text not null, subject text collate "C" not null, roles text not null,
    name text not null, created_at bigint not null, expires_at bigint not null, revoked_at bigint,
    last_used_at bigint)`,
  'create index if not exists "api_keys subject" on api_keys (subject)',
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

/** Milliseconds since the epoch by the clock of the database: a trigger has no other clock. */
const NOW = '(extract(epoch from clock_timestamp()) * 1000)::bigint'

/** Clean up after a deleted users record, so that no writer can forget to. */
export function directoryTriggers(users: string): readonly string[] {
  const table = quoteName(users)
  return [
    `create or replace function users_deleted() returns trigger language plpgsql set search_path from current as $$ begin
      insert into accounts values (old.id, null, false, false, true, ${NOW})
        on conflict (user_id) do update set password_hash = null, one_time = false, deleted = true,
          changed_at = excluded.changed_at;
      delete from sessions where user_id = old.id;
      update api_keys set revoked_at = ${NOW} where subject = old.id and revoked_at is null;
      return null;
    end $$`,
    `create or replace function users_inserted() returns trigger language plpgsql set search_path from current as $$ begin
      update accounts set deleted = false where user_id = new.id;
      return null;
    end $$`,
    `create trigger users_deleted after delete on ${table} for each row execute function users_deleted()`,
    `create trigger users_inserted after insert on ${table} for each row execute function users_inserted()`,
  ]
}
