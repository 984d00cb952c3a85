/** Creates the first user of a server that has none: an admin whose password works for one sign-in. */

import { USERS } from '../../decide/policy.ts'
import { boundsOf } from '../../decide/role-guarantees.ts'
import { createPasswords, generatePassword } from '../../identity/sign-in/password.ts'
import type { LivePolicy } from '../../policy/live/live-policy.ts'
import { withCommands } from '../../present/invocation.ts'
import type { Document } from '../../resources/object.ts'
import type { Resources } from '../../resources/resource.ts'
import type { Seeding } from '../../store/contract.ts'
import type { Directory } from '../../store/directory.ts'
import { TooManyPeople } from '../../store/errors.ts'

const ID = 'admin'
const EMAIL = 'admin@example.com'
const ROLE = 'admin'

interface FirstAdminParts {
  readonly resources: Resources
  readonly seeding: Pick<Seeding, 'count'>
  readonly directory: Pick<Directory, 'addFirst'>
  readonly policy: Pick<LivePolicy, 'active'>
}

export interface FirstAdmin {
  readonly id: string
  readonly email: string
  readonly password: string
  /** Undefined when roles.yaml doesn't declare the role. */
  readonly role: string | undefined
}

/**
 * Undefined if there are or were users, or another process was first, or the schema of users requires further fields,
 * or as many API keys have the role as a guarantee allows people.
 */
export async function makeFirstAdmin({
  resources,
  seeding,
  directory,
  policy,
}: FirstAdminParts): Promise<FirstAdmin | undefined> {
  if (!resources.byName.has(USERS) || (await seeding.count(USERS)) > 0) return undefined
  const { snapshot } = policy.active
  const declared = snapshot.subjectOf({ id: ID, roles: [ROLE], claims: {} }).roles
  const roles = declared.has(ROLE) ? [ROLE] : []
  if (!isFit(resources, roles)) return undefined
  const password = generatePassword()
  const hash = await createPasswords().hash(password)
  const user = { id: ID, document: documentOf(roles) }
  const bounds = boundsOf(snapshot.roleGuarantees.atMost, user.document, undefined)
  const isAdded = await directory.addFirst(user, { hash, oneTime: true }, bounds).catch((error: unknown) => {
    if (error instanceof TooManyPeople) return false
    throw error
  })
  if (!isAdded) return undefined
  return { id: ID, email: EMAIL, password, role: roles[0] }
}

/** A deployment's own schema of users may require fields that this file doesn't know. */
function isFit({ byName }: Resources, roles: readonly string[]): boolean {
  const now = new Date().toISOString()
  const record = { id: ID, ...documentOf(roles), createdAt: now, updatedAt: now }
  return byName.get(USERS)?.validate(record).length === 0
}

function documentOf(roles: readonly string[]): Document {
  return { email: EMAIL, displayName: 'Admin', roles }
}

/**
 * The text that is printed once. The server refuses the example password (too short); otherwise many servers would keep
 * it.
 */
export function firstAdminText(url: string, { id, email, password, role }: FirstAdmin): string {
  const roles =
    role === undefined
      ? withCommands(
          `\nroles.yaml declares no role \`${ROLE}\`: give the user a role with sallyport user roles ${id} --role ROLE\n`,
        )
      : ''
  const body = JSON.stringify({ email, password, newPassword: 'YOUR OWN' })
  return `There was no user yet, so Sallyport made one${role === undefined ? '' : ` with the role ${role}`}:

  e-mail    ${email}
  password  ${password}

The password works for one sign-in and isn't shown again. Sign in with it and set another one:

curl -s ${url}/api/tokens -H 'Content-Type: application/json' -d '${body}'

or ${withCommands(`set one with: sallyport user password ${id}`)}
${roles}`
}
