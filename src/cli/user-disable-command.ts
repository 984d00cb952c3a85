/** sallyport user disable and sallyport user enable */
import { Command } from 'commander'
import { type DirectoryAccess, type OpenDirectory, withDirectory } from '../identity/directory/directory-access.ts'
import { soundSubject } from '../identity/directory/who-is-meant.ts'
import { print } from '../present/print.ts'
import { quote } from '../present/quote.ts'

const DISABLE_HELP = `
Who signs in elsewhere, or calls with a key or a token, is named by the id (the subject).
`

export function userDisableCommand(open: OpenDirectory): Command {
  return new Command('disable')
    .description('refuse a user at once, whatever the credential; every session ends')
    .argument('<user>', 'e-mail address or id')
    .addHelpText('after', DISABLE_HELP)
    .action((named: string) =>
      withDirectory(open, async (access) => {
        const { subject, note } = await findSubject(access, named)
        await access.directory.disable(subject)
        print(`${quote(subject)} is disabled${note}.\n`)
      }),
    )
}

export function userEnableCommand(open: OpenDirectory): Command {
  return new Command('enable')
    .description('let a disabled user in again, with a new sign-in')
    .argument('<user>', 'e-mail address or id')
    .action((named: string) =>
      withDirectory(open, async (access) => {
        const { subject, note } = await findSubject(access, named)
        await access.directory.enable(subject)
        print(`${quote(subject)} is enabled${note}.\n`)
      }),
    )
}

interface Found {
  readonly subject: string
  /** A misspelt address would be nobody's. */
  readonly note: string
}

/** Also of somebody without a users record here. Throws DirectoryError. */
async function findSubject({ directory }: DirectoryAccess, named: string): Promise<Found> {
  const person = (await directory.person(named)) ?? (await directory.personByEmail(named))
  if (person) return { subject: person.id, note: '' }
  return { subject: soundSubject(named), note: '; no user here has this id or e-mail address' }
}
