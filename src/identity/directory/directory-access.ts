/** The commands' access to the directory of a server that may be running, and to the roles that its policy declares. */
import { didYouMean } from '../../base/did-you-mean.ts'
import type { Policy } from '../../decide/policy.ts'
import { type AtMost, apartSentence, boundsOf, brokenApart, roleGuaranteesOf } from '../../decide/role-guarantees.ts'
import type { Json, Resources } from '../../resources/resource.ts'
import type { Seeding, Store } from '../../store/contract.ts'
import type { Directory } from '../../store/directory.ts'
import { TooManyPeople, whileOpen } from '../../store/errors.ts'
import { isSubject } from '../caller.ts'

export interface DirectoryAccess {
  readonly directory: Directory
  readonly seeding: Seeding
  readonly store: Pick<Store, 'get'>
  readonly resources: Resources
  /** The policy in force. Throws FileError for policy files that the server would refuse. */
  readonly policy: () => Promise<Policy>
  readonly close: () => Promise<void>
}

/** Throws DirectoryError if there is no database yet, or the error that opening one throws. */
export type OpenDirectory = () => Promise<DirectoryAccess>

/** A command can't do its work; the message is one sentence for its user. */
export class DirectoryError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'DirectoryError'
  }
}

/** Does a command's work and then closes the directory. Throws DirectoryError also if the database doesn't answer. */
export function withDirectory<T>(open: OpenDirectory, work: (access: DirectoryAccess) => Promise<T>): Promise<T> {
  return whileOpen(
    open,
    work,
    ({ why }) => new DirectoryError(`the database can't be used (${why}); try again when it answers`),
  )
}

/**
 * Throws DirectoryError for a role that no policy knows, as it would grant nothing now, and perhaps something later; and
 * for roles that nobody may have together. Returns the guarantees that the write must count people for. `before`: the
 * roles that somebody has now.
 */
export async function refuseRoles(
  roles: readonly string[],
  access: Pick<DirectoryAccess, 'policy'>,
  before: Json = [],
): Promise<readonly AtMost[]> {
  const policy = await access.policy()
  const declared = [...policy.roles.keys()]
  const unknown = roles.find((role) => !declared.includes(role))
  if (unknown !== undefined) {
    const choice = `choose from ${declared.join(', ')}${didYouMean(unknown, declared)}`
    throw new DirectoryError(`the role \`${unknown}\` is not declared in roles.yaml; ${choice}`)
  }
  const { apart, atMost } = roleGuaranteesOf(policy)
  const [after, then] = [{ roles }, { roles: before }]
  const broken = brokenApart(apart, after, then)
  if (broken) throw new DirectoryError(apartSentence(broken))
  return boundsOf(atMost, after, then)
}

/** Throws DirectoryError if the write would break one of its bounds. */
export async function withinBounds<T>(write: Promise<T>): Promise<T> {
  try {
    return await write
  } catch (error) {
    throw error instanceof TooManyPeople ? new DirectoryError(error.message) : error
  }
}

/**
 * Reads `user:<id>` or an e-mail address. Throws DirectoryError if no user has the address, or there is no database to
 * look it up.
 */
export async function idOf(open: OpenDirectory, named: string): Promise<string> {
  if (named.startsWith('user:')) return named.slice('user:'.length)
  if (named.includes('@')) return idOfEmail(open, named)
  throw new DirectoryError(`\`${named}\` names nobody; write user:<id>, or an e-mail address`)
}

function idOfEmail(open: OpenDirectory, email: string): Promise<string> {
  return withDirectory(open, async ({ directory }) => {
    const person = await directory.personByEmail(email)
    if (person) return person.id
    const known = (await directory.people()).map((one) => one.email)
    throw new DirectoryError(`no user has the e-mail address \`${email}\`; write user:<id>${didYouMean(email, known)}`)
  })
}

/** The id of the user with this e-mail address; undefined also if there is no database to look it up. */
export async function emailOwner(open: OpenDirectory, email: string): Promise<string | undefined> {
  const found = await withDirectory(open, ({ directory }) => directory.personByEmail(email)).catch(() => undefined)
  return found?.id
}

/** A sentence for an id that no user here has; also undefined if there is no database to look it up. */
export async function doubtAbout(open: OpenDirectory, id: string): Promise<string | undefined> {
  try {
    return await withDirectory(open, ({ directory }) => doubt(directory, id))
  } catch {
    // The command also works without the database, which may be on another machine, or broken.
    return undefined
  }
}

async function doubt(directory: Directory, id: string): Promise<string | undefined> {
  if (await directory.person(id)) return undefined
  const unknown = `no user here has the id \`${id}\``
  const owner = await directory.personByEmail(id)
  if (owner) return `${unknown}: it is the e-mail address of \`user:${owner.id}\``
  return (
    unknown +
    didYouMean(
      id,
      (await directory.people()).map((person) => person.id),
    )
  )
}

/** Throws DirectoryError for text that can't be a caller's id. */
export function soundSubject(id: string): string {
  if (isSubject(id)) return id
  throw new DirectoryError(
    'the id is not valid; use 1 to 128 characters, no control characters, and no `user:` at the start',
  )
}
