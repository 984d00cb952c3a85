/** sallyport user add */
import { Command } from 'commander'
import { type OpenDirectory, withDirectory } from '../identity/directory/directory-access.ts'
import { addUser } from '../identity/directory/users.ts'
import { print, tell } from '../present/print.ts'

interface Options {
  readonly email: string
  readonly name: string
  readonly id?: string
  readonly role: readonly string[]
}

const HELP = `
Standard output gets the id. Without a password nobody signs in as the new user:

  sallyport user add --email zoe@example.com --name Zoe --role member
  sallyport user password zoe@example.com
`

export function userAddCommand(open: OpenDirectory): Command {
  return new Command('add')
    .description('add a user, without a password yet, and print the id')
    .requiredOption('--email <address>', 'by which the user signs in')
    .requiredOption('--name <name>', 'what others see')
    .option('--id <id>', 'what policies call the user: user:<id> (a new UUID)')
    .option('--role <role...>', 'a role that the user has; repeat for more', [])
    .addHelpText('after', HELP)
    .action(({ email, name, id, role }: Options) =>
      withDirectory(open, async (access) => {
        print(`${await addUser(access, { email, name, id, roles: role })}\n`)
        tell(`Set a password with: sallyport user password ${email}\n`)
      }),
    )
}
