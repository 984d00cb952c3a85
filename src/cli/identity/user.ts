/** sallyport user …: the people of the embedded directory. */
import { type DirectoryAccess, DirectoryError, soundSubject } from '../../identity/directory/directory-access.ts'
import { printResult, tell } from '../../present/print.ts'
import { printable, quote } from '../../present/quote.ts'
import { table } from '../../present/text.ts'
import type { Person } from '../../store/directory.ts'
import { CliCommand, type FormatFlag } from '../options.ts'
import { inDirectory } from './directory.ts'

const HEAD = ['ID', 'E-MAIL', 'NAME', 'ROLES', 'STATE']
const USER = ['<user>', 'e-mail address or id'] as const

export function userCommand(): CliCommand {
  const user = new CliCommand('user').description(
    'manage the users who sign in to this server; the server may be running',
  )
  declareAdd(user)
  declarePassword(user)
  declareRoles(user)
  declareStanding(user, 'disable', 'refuse all credentials of a user at once, and end their sessions')
  declareStanding(user, 'enable', 'let a disabled user sign in again')
  user
    .command('list')
    .description('list the users with their roles, and whether they can sign in')
    .formats()
    .examples('user list', 'user list --format json')
    .action(({ format }: FormatFlag) =>
      inDirectory(async ({ directory }) => {
        const users = (await directory.people()).map(listed)
        printResult(format, { users }, toText(users))
      }),
    )
  return user
}

interface AddFlags extends FormatFlag {
  readonly email: string
  readonly name: string
  readonly id?: string
  readonly role: readonly string[]
}

function declareAdd(user: CliCommand): void {
  user
    .command('add')
    .description('add a user without a password, and print the id')
    .requiredOption('--email <address>', 'the address with which the user signs in')
    .requiredOption('--name <name>', 'the name that others see')
    .option('--id <id>', 'the id that policies use, as in user:<id> (a new UUID)')
    .option('--role <role...>', 'a role that the user has; repeat for more', [])
    .formats()
    .note('The user can sign in after you set a password with `user password`.')
    .examples('user add --email zoe@example.com --name Zoe --role member')
    .action(({ email, name, id, role, format }: AddFlags) =>
      inDirectory(async (access) => {
        const { addUser } = await import('../../identity/directory/users.ts')
        const added = await addUser(access, { email, name, id, roles: role })
        printResult(format, { id: added, email, name, roles: role }, `${added}\n`)
        tell(`Set a password with: sallyport user password ${email}\n`)
      }),
    )
}

interface PasswordFlags extends FormatFlag {
  readonly generate?: true
  readonly oneTime?: boolean
}

function declarePassword(user: CliCommand): void {
  user
    .command('password')
    .description("set a user's password, and end all sessions of the user")
    .argument(...USER)
    .option('--generate', 'generate a password, and print only it on standard output')
    .option('--one-time', 'the password is valid for one sign-in, which must set a new one (newPassword)')
    .formats()
    .note('On a terminal, the command asks for the password and does not show it; otherwise it reads standard input.')
    .examples(
      'user password zoe@example.com',
      'user password zoe@example.com < password.txt',
      'user password zoe@example.com --generate --one-time',
    )
    .action((named: string, { generate, oneTime = false, format }: PasswordFlags) =>
      inDirectory(async (access) => {
        const { findUser } = await import('../../identity/directory/users.ts')
        const { createPasswords, generatePassword } = await import('../../identity/sign-in/password.ts')
        const { readPassword } = await import('./read-password.ts')
        const { id } = await findUser(access, named)
        const password = generate ? generatePassword() : await readPassword()
        const hash = await createPasswords().hash(password)
        if (!(await access.directory.setPassword(id, { hash, oneTime })))
          throw new DirectoryError(`the user \`${id}\` is gone`)
        tell(`${id} has a new password; all earlier sessions have ended.\n`)
        const made = generate ? { id, oneTime, password } : { id, oneTime }
        printResult(format, made, generate ? `${password}\n` : '')
      }),
    )
}

interface RolesFlags extends FormatFlag {
  readonly role: readonly string[]
  readonly none?: boolean
}

function declareRoles(user: CliCommand): void {
  user
    .command('roles')
    .description("replace a user's roles")
    .argument(...USER)
    .option('--role <role...>', 'a role that the user has from now on; repeat for more', [])
    .option('--none', 'remove all roles')
    .formats()
    .note('The new roles take effect with the next request of each session.')
    .examples('user roles zoe@example.com --role member --role support', 'user roles zoe@example.com --none')
    .action((named: string, { role, none = false, format }: RolesFlags) => {
      if (none === role.length > 0)
        throw new DirectoryError('no roles are named: name them with --role, or remove all with --none')
      return inDirectory(async (access) => {
        const { findUser, replaceRoles } = await import('../../identity/directory/users.ts')
        const { id, roles } = await findUser(access, named)
        await replaceRoles(access, id, role)
        const text = `${printable(`${id}: ${namesOf(roles)} -> ${namesOf(role)}`)}\n`
        printResult(format, { id, before: roles, roles: role }, text)
      })
    })
}

function declareStanding(user: CliCommand, name: 'disable' | 'enable', description: string): void {
  user
    .command(name)
    .description(description)
    .argument(...USER)
    .formats()
    .note('For a user who signs in elsewhere, or a caller with a key or a token, name the id (the subject).')
    .examples(`user ${name} zoe@example.com`)
    .action((named: string, { format }: FormatFlag) =>
      inDirectory(async (access) => {
        const { subject, note } = await findSubject(access, named)
        await access.directory[name](subject)
        printResult(format, { subject, disabled: name === 'disable' }, `${quote(subject)} is ${name}d${note}.\n`)
      }),
    )
}

/** Also for a subject without a users record here; the note warns of a misspelt address. Throws DirectoryError. */
async function findSubject(
  { directory }: DirectoryAccess,
  named: string,
): Promise<{ readonly subject: string; readonly note: string }> {
  const person = (await directory.person(named)) ?? (await directory.personByEmail(named))
  if (person) return { subject: person.id, note: '' }
  return { subject: soundSubject(named), note: '; no user here has this id or e-mail address' }
}

function listed(person: Person) {
  const { id, email, name, roles } = person
  return { id, email, name, roles, state: stateOf(person) }
}

function toText(users: readonly ReturnType<typeof listed>[]): string {
  if (users.length === 0) return 'There are no users.\n'
  const rows = users.map(({ id, email, name, roles, state }) =>
    [id, email, name, roles.join(' '), state].map(printable),
  )
  return `${table([HEAD, ...rows]).join('\n')}\n`
}

function stateOf({ account }: Person): 'active' | 'one-time password' | 'no password' | 'disabled' {
  if (account?.disabled) return 'disabled'
  if (!account?.passwordHash) return 'no password'
  return account.oneTime ? 'one-time password' : 'active'
}

function namesOf(roles: readonly string[]): string {
  return roles.length === 0 ? 'no role' : roles.join(', ')
}
