/** sallyport user password */
import { Command } from 'commander'
import { DirectoryError, type OpenDirectory, withDirectory } from '../identity/directory/directory-access.ts'
import { findUser } from '../identity/directory/users.ts'
import { createPasswords, generatePassword } from '../identity/sign-in/password.ts'
import { print, tell } from '../present/print.ts'
import { readPassword } from './read-password.ts'

interface Options {
  readonly generate?: true
  readonly oneTime?: boolean
}

const HELP = `
The password is asked for on the terminal, which doesn't show it; else it is read from standard input:

  sallyport user password zoe@example.com
  sallyport user password zoe@example.com < password.txt
  sallyport user password zoe@example.com --generate --one-time
`

export function userPasswordCommand(open: OpenDirectory): Command {
  return new Command('password')
    .description("set a user's password; every session of theirs ends")
    .argument('<user>', 'e-mail address or id')
    .option('--generate', 'make a password, and print it alone on standard output')
    .option('--one-time', 'it ends with the first sign-in, which has to set another one (newPassword)')
    .addHelpText('after', HELP)
    .action((named: string, { generate, oneTime = false }: Options) =>
      withDirectory(open, async (access) => {
        const { id } = await findUser(access, named)
        const password = generate ? generatePassword() : await readPassword()
        const hash = await createPasswords().hash(password)
        if (!(await access.directory.setPassword(id, { hash, oneTime })))
          throw new DirectoryError(`the user \`${id}\` is gone`)
        tell(`${id} has a new password; the sessions from before have ended.\n`)
        if (generate) print(`${password}\n`)
      }),
    )
}
