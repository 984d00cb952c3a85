/** sallyport user roles */
import { Command } from 'commander'
import { DirectoryError, type OpenDirectory, withDirectory } from '../identity/directory/directory-access.ts'
import { findUser, replaceRoles } from '../identity/directory/users.ts'
import { print } from '../present/print.ts'
import { printable } from '../present/quote.ts'

interface Options {
  readonly role: readonly string[]
  readonly none?: boolean
}

const HELP = `
The roles that are named take the place of all that the user had. The user's sessions have them with their next request.

  sallyport user roles zoe@example.com --role member --role support
  sallyport user roles zoe@example.com --none
`

export function userRolesCommand(open: OpenDirectory): Command {
  return new Command('roles')
    .description("replace a user's roles")
    .argument('<user>', 'e-mail address or id')
    .option('--role <role...>', 'a role that the user has from now on; repeat for more', [])
    .option('--none', 'no role at all')
    .addHelpText('after', HELP)
    .action((named: string, { role, none = false }: Options) => {
      if (none === role.length > 0) throw new DirectoryError('name the roles with --role, or take all away with --none')
      return withDirectory(open, async (access) => {
        const { id, roles } = await findUser(access, named)
        await replaceRoles(access, id, role)
        print(`${printable(`${id}: ${told(roles)} -> ${told(role)}`)}\n`)
      })
    })
}

function told(roles: readonly string[]): string {
  return roles.length === 0 ? 'no role' : roles.join(', ')
}
