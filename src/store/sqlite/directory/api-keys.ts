/** The stored part of API keys, which never includes the secret. */
import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite'
import type { ApiKey, NewApiKey } from '../../directory.ts'
import { DamagedObject } from '../../errors.ts'
import { wellFormed } from '../../sql/quote.ts'

export class SqliteApiKeys {
  readonly #insert: StatementSync
  readonly #all: StatementSync
  readonly #revoke: StatementSync
  readonly #noteUse: StatementSync

  constructor(database: DatabaseSync) {
    this.#insert = database.prepare('insert into api_keys values (?, ?, ?, ?, ?, ?, ?, null, null)')
    this.#all = database.prepare('select * from api_keys order by created_at, id')
    this.#revoke = database.prepare('update api_keys set revoked_at = coalesce(revoked_at, ?) where id = ?')
    this.#noteUse = database.prepare(
      'update api_keys set last_used_at = max(coalesce(last_used_at, 0), ?) where id = ?',
    )
  }

  insert({ id, secretHash, subject, roles, name, createdAt, expiresAt }: NewApiKey): void {
    this.#insert.run(id, secretHash, wellFormed(subject), JSON.stringify(roles), name, createdAt, expiresAt)
  }

  all(): readonly ApiKey[] {
    return this.#all.all().map(apiKeyOf)
  }

  /** False if there is no such key. */
  revoke(id: string, now: number): boolean {
    return this.#revoke.run(now, id).changes === 1
  }

  noteUse(id: string, at: number): void {
    this.#noteUse.run(at, id)
  }
}

function rolesOfKey({ id, roles }: Record<string, SQLOutputValue>): readonly string[] {
  const what = `the API key \`${id}\``
  let parsed: unknown
  try {
    parsed = JSON.parse(String(roles))
  } catch {
    throw new DamagedObject(what)
  }
  if (Array.isArray(parsed) && parsed.every((role) => typeof role === 'string')) return parsed
  throw new DamagedObject(what)
}

/** Throws DamagedObject. */
export function apiKeyOf(row: Record<string, SQLOutputValue>): ApiKey {
  return {
    id: String(row.id),
    secretHash: String(row.secret_hash),
    subject: String(row.subject),
    roles: rolesOfKey(row),
    name: String(row.name),
    createdAt: Number(row.created_at),
    expiresAt: Number(row.expires_at),
    revokedAt: row.revoked_at as number | null,
    lastUsedAt: row.last_used_at as number | null,
  }
}
