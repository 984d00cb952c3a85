/** The user that a command names: by an id, which the directory need not have, or by an e-mail address. */
import { didYouMean } from '../../base/did-you-mean.ts'
import type { Directory } from '../../store/directory.ts'
import { isSubject } from '../subject.ts'
import { DirectoryError, type OpenDirectory, withDirectory } from './directory-access.ts'

/** Of `user:<id>`, or of an e-mail address. Throws DirectoryError where nobody has the address, or no database can tell. */
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

/** A sentence for an id that no user here has; undefined as well where there is no database to tell. */
export async function doubtAbout(open: OpenDirectory, id: string): Promise<string | undefined> {
  try {
    return await withDirectory(open, ({ directory }) => doubt(directory, id))
  } catch {
    // What was asked for doesn't rest on the database, which may be of another machine, or broken.
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

/** Throws DirectoryError for what no caller's id can be. */
export function soundSubject(id: string): string {
  if (isSubject(id)) return id
  throw new DirectoryError('an id has 1 to 128 characters, no control characters, and does not start with `user:`')
}
