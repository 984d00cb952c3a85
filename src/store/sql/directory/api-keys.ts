/** Statements about the stored part of API keys, which never includes the secret. */
import type { ApiKey, NewApiKey } from '../../directory.ts'
import { DamagedObject } from '../../errors.ts'
import type { SqlDialect } from '../dialect.ts'
import { wellFormed } from '../quote.ts'
import { type Row, type Statement, sql } from '../statement.ts'

/** The columns that `apiKeyOf` reads. */
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

export function insertKey({ text }: SqlDialect, key: NewApiKey): Statement {
  const { id, secretHash, subject, roles, name, createdAt, expiresAt } = key
  const texts = [text(id), secretHash, text(wellFormed(subject)), JSON.stringify(roles), text(name)]
  return sql('insert into api_keys values ($1, $2, $3, $4, $5, $6, $7, null, null)', ...texts, createdAt, expiresAt)
}

/** Oldest first. */
export const ALL_KEYS = sql(`select ${API_KEY_COLUMNS.join()} from api_keys order by created_at, id`)

/** Rows: one, if there is such a key. */
export function revokeKey({ sought }: SqlDialect, id: string, now: number): Statement {
  const revoke = 'update api_keys set revoked_at = coalesce(revoked_at, $1) where id = $2 returning 1'
  return sql(revoke, now, sought(id))
}

export function noteUses({ text, greatest, elements }: SqlDialect, uses: ReadonlyMap<string, number>): Statement {
  const last = `${greatest}(coalesce(last_used_at, 0), cast(u.value ->> 1 as bigint))`
  return sql(
    `update api_keys as k set last_used_at = ${last} from ${elements('$1')} as u where k.id = u.value ->> 0`,
    JSON.stringify([...uses].map(([id, at]) => [text(id), at])),
  )
}

/** Throws DamagedObject. */
export function apiKeyOf(row: Row, { told }: SqlDialect): ApiKey {
  const [id, secretHash, subject, roles, name, createdAt, expiresAt, revokedAt, lastUsedAt] = row
  return {
    id: told(id),
    secretHash: String(secretHash),
    subject: told(subject),
    roles: rolesOfKey(String(id), String(roles)),
    name: told(name),
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
