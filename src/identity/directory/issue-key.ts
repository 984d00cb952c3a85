/** Issues an API key: its secret is known to whoever asked for it, the directory keeps a hash. */
import { quote } from '../../present/quote.ts'
import type { NewApiKey } from '../../store/directory.ts'
import { createApiKey, hashOfSecret } from './api-key.ts'
import { type DirectoryAccess, DirectoryError, refuseRoles, withinBounds } from './directory-access.ts'

export interface KeyWish {
  readonly subject: string
  readonly roles: readonly string[]
  /** Milliseconds that the key is valid. */
  readonly expires: number
  /** The purpose of the key, shown in lists. */
  readonly name: string
}

export interface IssuedKey {
  readonly key: NewApiKey
  /** The key itself: nobody sees it again. */
  readonly text: string
}

/**
 * `keep` gets the key's text before the directory has the key, so that no key exists that nobody has. Throws
 * DirectoryError for roles that nobody declared and for subjects whose keys don't work, and what `keep` throws.
 */
export async function issueKey(
  { subject, roles: named, expires, name }: KeyWish,
  access: DirectoryAccess,
  keep: (text: string) => Promise<void> = async () => {},
): Promise<IssuedKey> {
  const bounds = await refuseRoles(named, access)
  const { disabled, deleted } = await access.directory.accountStatus(subject)
  if (disabled || deleted)
    throw new DirectoryError(
      `${quote(subject)} is ${disabled ? 'disabled' : 'deleted'}, so its keys do not work: name another subject`,
    )
  const { id, secret, text } = createApiKey()
  await keep(text)
  const createdAt = Date.now()
  const roles = [...new Set(named)]
  const key = { id, secretHash: hashOfSecret(secret), subject, roles, name, createdAt, expiresAt: createdAt + expires }
  await withinBounds(access.directory.addKey(key, bounds))
  return { key, text }
}
