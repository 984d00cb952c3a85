/** The tables of the store and of the directory. Times are milliseconds since the epoch. */

import { withFix } from '../../base/problems/fix.ts'
import { UnfitDatabase } from '../errors.ts'
import { changesTables } from './changes.ts'
import type { SqlDialect } from './statement.ts'

export function storeTables(dialect: SqlDialect): readonly string[] {
  const { number, key, strict, bytes, outboxNumber, leaseMark } = dialect
  return [
    `create table if not exists secrets (name ${key} primary key not null, value ${bytes} not null) ${strict}`,
    `create table if not exists marks (name ${key} primary key not null, value text not null) ${strict}`,
    // A number is never used again, even after its row is deleted.
    `create table if not exists outbox (sequence ${outboxNumber}, record text not null) ${strict}`,
    // Leases for work that only one process at a time may do.
    `create table if not exists leases (
      name ${key} primary key not null, holder text not null, ${leaseMark} ${number} not null) ${strict}`,
    // The migrations that ran, or run: all objects up to a place (resource, id) are migrated.
    `create table if not exists migrations (
      number ${number} primary key not null, name text not null, digest text not null, begun_at text not null,
      ended_at text, objects ${number} not null, resource text, id text) ${strict}`,
    // One row: the schemas that the data last fitted.
    `create table if not exists fitted_schemas (
      one ${number} primary key not null, digest text not null, schemas text not null) ${strict}`,
    // The object is JSON, in its state at creation.
    `create table if not exists replays (
      subject ${key} not null, route ${key} not null, key ${key} not null, fingerprint text not null,
      object text not null, at ${number} not null, primary key (subject, route, key)) ${strict}`,
    'create index if not exists "replays at" on replays (at)',
    // Sign-ins that failed.
    `create table if not exists attempts (
      key ${key} primary key not null, failures ${number} not null, at ${number} not null,
      expires_at ${number} not null) ${strict}`,
    'create index if not exists "attempts expires" on attempts (expires_at)',
    ...changesTables(dialect),
  ]
}

export function directoryTables({ number, key, flag, strict, least }: SqlDialect): readonly string[] {
  return [
    // The subjects that have a password, are disabled, or had a users record that was deleted.
    `create table if not exists accounts (
      user_id ${key} primary key not null, password_hash text, one_time ${flag} not null, disabled ${flag} not null,
      deleted ${flag} not null, changed_at ${number} not null) ${strict}`,
    // Only open sessions: a session that ends is deleted.
    `create table if not exists sessions (
      id ${key} primary key not null, user_id ${key} not null, created_at ${number} not null,
      ends_at ${number} not null, idle_ends_at ${number} not null, family text not null, current text not null)
      ${strict}`,
    'create index if not exists "sessions user" on sessions (user_id)',
    `create index if not exists "sessions end" on sessions (${least}(ends_at, idle_ends_at))`,
    // `roles` is a JSON list.
    `create table if not exists api_keys (
      id ${key} primary key not null, secret_hash text not null, subject ${key} not null, roles text not null,
      name text not null, created_at ${number} not null, expires_at ${number} not null, revoked_at ${number},
      last_used_at ${number}) ${strict}`,
    'create index if not exists "api_keys subject" on api_keys (subject)',
  ]
}

/** What cleans up after a deleted users record, so that no writer can forget to. */
export function afterDeletedUser({ now }: SqlDialect): string {
  return `insert into accounts values (old.id, null, false, false, true, ${now})
      on conflict (user_id) do update set password_hash = null, one_time = false, deleted = true,
        changed_at = excluded.changed_at;
    delete from sessions where user_id = old.id;
    update api_keys set revoked_at = ${now} where subject = old.id and revoked_at is null;`
}

export const AFTER_INSERTED_USER = 'update accounts set deleted = false where user_id = new.id;'

// The layout of the store that each version writes: the one list. A version that changes a layout adds its entry at the
// end. A store is opened by a version of the same layout or a later one; test/stability/layouts.test.ts holds the last
// entry to the engines.

interface VersionLayouts {
  /** The first version with these layouts. */
  readonly version: string
  /** By the name of the engine; an engine that the version didn't have is absent. */
  readonly layouts: Readonly<Record<string, number>>
}

/** The last entry is that of this program. */
export const LAYOUTS: readonly VersionLayouts[] = [
  { version: '0.1.0', layouts: { sqlite: 2 } },
  { version: '0.2.0', layouts: { sqlite: 3, postgres: 2 } },
]

export function laterLayout(found: number, supported: number): UnfitDatabase {
  const fault = `the database has layout ${found}, but this version supports only ${supported}: use a later version`
  return withFix(new UnfitDatabase(fault), 'npm install sallyport@latest')
}

/** For a command, which changes no table, because a server may be running. */
export function notMigrated(): UnfitDatabase {
  const fault = 'no server of this version has opened the database with these schemas: start the server once'
  return withFix(new UnfitDatabase(fault), 'sallyport serve')
}
