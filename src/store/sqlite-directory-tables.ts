/** The tables of the directory, and what the end of a users record takes with it: triggers, so that no writer can forget it. */
import { type Kysely, sql } from 'kysely'
import type { TablePlan, Tables } from './sqlite-schema.ts'

/** `users`: the table of the people; undefined where no schema declares them. */
export async function createDirectory(db: Kysely<Tables>, users: TablePlan | undefined): Promise<void> {
  await createAccounts(db)
  await createSessions(db)
  await createApiKeys(db)
  if (users) await createTriggers(db, users)
}

/** Who has a password, is disabled, or had a users record that was deleted. */
async function createAccounts(db: Kysely<Tables>): Promise<void> {
  await sql`create table if not exists accounts (
    user_id text primary key not null, password_hash text, one_time integer not null, disabled integer not null,
    deleted integer not null, changed_at integer not null) strict`.execute(db)
}

/** Those that are open: a session that ends is deleted. */
async function createSessions(db: Kysely<Tables>): Promise<void> {
  await sql`create table if not exists sessions (
    id text primary key not null, user_id text not null, created_at integer not null, ends_at integer not null,
    idle_ends_at integer not null, family text not null, current text not null) strict`.execute(db)
  await sql`create index if not exists "sessions user" on sessions (user_id)`.execute(db)
  await sql`create index if not exists "sessions end" on sessions (min(ends_at, idle_ends_at))`.execute(db)
}

/** `roles` is a JSON list. */
async function createApiKeys(db: Kysely<Tables>): Promise<void> {
  await sql`create table if not exists api_keys (
    id text primary key not null, secret_hash text not null, subject text not null, roles text not null,
    name text not null, created_at integer not null, expires_at integer not null, revoked_at integer,
    last_used_at integer) strict`.execute(db)
  await sql`create index if not exists "api_keys subject" on api_keys (subject)`.execute(db)
}

async function createTriggers(db: Kysely<Tables>, { table }: TablePlan): Promise<void> {
  await sql`create trigger if not exists "users deleted" after delete on ${sql.table(table)} begin
    insert into accounts values (old.id, null, 0, 0, 1, ${NOW})
      on conflict do update set password_hash = null, one_time = 0, deleted = 1, changed_at = excluded.changed_at;
    delete from sessions where user_id = old.id;
    update api_keys set revoked_at = ${NOW} where subject = old.id and revoked_at is null;
  end`.execute(db)
  await sql`create trigger if not exists "users inserted" after insert on ${sql.table(table)} begin
    update accounts set deleted = 0 where user_id = new.id;
  end`.execute(db)
}

/** The engine's own clock, in milliseconds: a trigger has no other. */
const NOW = sql`cast(unixepoch('subsec') * 1000 as integer)`
