/** Commands for users beside a running server: find them by id or e-mail address, add them, give them roles. */
import { v7 as uuidv7 } from 'uuid'
import { USERS } from '../../decide/policy.ts'
import { roleGuaranteesOf } from '../../decide/role-guarantees.ts'
import type { Person } from '../../store/directory.ts'
import { StaleObject, UniqueTaken } from '../../store/errors.ts'
import { isSubject } from '../caller.ts'
import { type DirectoryAccess, DirectoryError, refuseRoles, withinBounds } from './directory-access.ts'

export interface NewUser {
  readonly email: string
  readonly name: string
  readonly roles: readonly string[]
  /** Undefined to create an id like the server's. */
  readonly id: string | undefined
}

/** Throws DirectoryError. Looks for an id first, because ids are unique in any form. */
export async function findUser({ directory }: DirectoryAccess, named: string): Promise<Person> {
  const found = (await directory.person(named)) ?? (await directory.personByEmail(named))
  if (found) return found
  throw new DirectoryError(
    `no user has the id or e-mail address \`${named}\`; list all users with \`sallyport user list\``,
  )
}

/**
 * Returns the id. Throws DirectoryError for a record that the schema refuses, roles that it may not have, or an id or address
 * that is taken.
 */
export async function addUser(access: DirectoryAccess, user: NewUser): Promise<string> {
  const bounds = await refuseRoles(user.roles, access)
  const id = user.id ?? uuidv7()
  if (!isSubject(id)) {
    throw new DirectoryError(
      'the id is not valid; use 1 to 128 characters, no control characters, and no `user:` at the start',
    )
  }
  if (await access.directory.person(id)) throw new DirectoryError(`the id \`${id}\` is taken; choose another one`)
  const document = { email: user.email, displayName: user.name, roles: [...new Set(user.roles)] }
  refuseUnfit(access, id, document)
  try {
    await withinBounds(access.seeding.insert(USERS, [{ id, document }], bounds))
  } catch (error) {
    if (!(error instanceof UniqueTaken)) throw error
    throw new DirectoryError(`another user has the ${error.field} \`${user.email}\`; choose another one`)
  }
  return id
}

/**
 * Replaces the user's roles. Throws DirectoryError for roles that it may not have, or if another process writes at the same
 * time.
 */
export async function replaceRoles(access: DirectoryAccess, id: string, roles: readonly string[]): Promise<void> {
  const object = await access.store.get(USERS, id)
  if (!object) throw new DirectoryError(`the user \`${id}\` was deleted meanwhile`)
  const bounds = await refuseRoles(roles, access, object.document.roles)
  const document = { ...object.document, roles: [...new Set(roles)] }
  refuseUnfit(access, id, document)
  try {
    await withinBounds(access.seeding.replace(USERS, { id, version: object.version, document }, bounds))
  } catch (error) {
    if (!(error instanceof StaleObject)) throw error
    throw new DirectoryError(`somebody else changed the user \`${id}\` at the same time; try again`)
  }
}

/** Throws DirectoryError if more people would have a role than a guarantee allows. */
export async function enableUser({ directory, policy }: DirectoryAccess, subject: string): Promise<void> {
  const { atMost } = roleGuaranteesOf(await policy())
  await withinBounds(directory.enable(subject, atMost))
}

/** Refuses records that no request could create: a command must not create them either. */
function refuseUnfit(
  { resources }: DirectoryAccess,
  id: string,
  document: Readonly<Record<string, string | string[]>>,
): void {
  const users = resources.byName.get(USERS)
  if (!users)
    throw new DirectoryError('no schema declares `users`; set SCHEMAS to the folder of a schema file users.json')
  const now = new Date().toISOString()
  const faults = users.validate({ id, ...document, createdAt: now, updatedAt: now })
  const reasons = faults.map(({ pointer, detail }) => `${pointer.slice(1)} ${detail}`).join('; ')
  if (faults.length > 0) throw new DirectoryError(`the schema of users refuses this record: ${reasons}`)
}
