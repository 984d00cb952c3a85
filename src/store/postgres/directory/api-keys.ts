/** The stored part of API keys, which never includes the secret. */

import type { ApiKey, NewApiKey } from '../../directory.ts'
import { DamagedObject } from '../../errors.ts'
import type { Row, Statement } from '../../sql/statement.ts'
import { decodeText, encodeId, encodeText } from '../stored-text.ts'

export const API_KEY_COLUMNS = [
  'id',
  'secret_hash',
  'subject',
  'roles',
  'name',
  'created_at',
  'expires_at',
  'revoked_at',
  'last_used_at',
] as const

export function insertKey({ id, secretHash, subject, roles, name, createdAt, expiresAt }: NewApiKey): Statement {
  const text = 'insert into api_keys values ($1, $2, $3, $4, $5, $6, $7, null, null)'
  const texts = [encodeText(id), secretHash, encodeId(subject), JSON.stringify(roles), encodeText(name)]
  return { text, values: [...texts, createdAt, expiresAt] }
}

/** Oldest first. */
export function allKeys(): Statement {
  return { text: `select ${API_KEY_COLUMNS.join()} from api_keys order by created_at, id`, values: [] }
}

/** Rows: one, if there is such a key. */
export function revokeKey(id: string, now: number): Statement {
  const text = 'update api_keys set revoked_at = coalesce(revoked_at, $1) where id = $2 returning 1'
  return { text, values: [now, encodeText(id)] }
}

export function noteUses(uses: ReadonlyMap<string, number>): Statement {
  const text = `update api_keys as k set last_used_at = greatest(coalesce(last_used_at, 0), u.at)
    from unnest($1::text[], $2::bigint[]) as u(id, at) where k.id = u.id`
  return { text, values: [[...uses.keys()].map(encodeText), [...uses.values()]] }
}

/** A row of API_KEY_COLUMNS. Throws DamagedObject. */
export function apiKeyOf(row: Row): ApiKey {
  const [id, secretHash, subject, roles, name, createdAt, expiresAt, revokedAt, lastUsedAt] = row
  return {
    id: decodeText(String(id)),
    secretHash: String(secretHash),
    subject: decodeText(String(subject)),
    roles: rolesOfKey(String(id), String(roles)),
    name: decodeText(String(name)),
    createdAt: Number(createdAt),
    expiresAt: Number(expiresAt),
    revokedAt: revokedAt as number | null,
    lastUsedAt: lastUsedAt as number | null,
  }
}

function rolesOfKey(id: string, roles: string): readonly string[] {
  const what = `the API key \`${id}\``
  let parsed: unknown
  try {
    parsed = JSON.parse(roles)
  } catch {
    throw new DamagedObject(what)
  }
  if (Array.isArray(parsed) && parsed.every((role) => typeof role === 'string')) return parsed
  throw new DamagedObject(what)
}
