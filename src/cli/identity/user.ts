/** sallyport user …: the people of the embedded directory. */
import { Command } from 'commander'
import { type DirectoryAccess, DirectoryError, soundSubject } from '../../identity/directory/directory-access.ts'
import { printNote, printResult } from '../../present/print.ts'
import { printable, quote } from '../../present/quote.ts'
import { table } from '../../present/text.ts'
import type { Person } from '../../store/directory.ts'
import { TEXT_OR_JSON, withHelp } from '../options.ts'
import { inDirectory } from './directory.ts'

const HEAD = ['ID', 'E-MAIL', 'NAME', 'ROLES', 'STATE']
const USER = ['<user>', 'e-mail address or id'] as const

export function userCommand(): Command {
  const user = new Command('user').description('manage the users who sign in to this server; the server may be running')
  declareAdd(user)
  declarePassword(user)
  declareRoles(user)
  declareStanding(user, 'disable', 'refuse all credentials of a user at once, and end their sessions')
  declareStanding(user, 'enable', 'let a disabled user sign in again')
  withHelp(user.command('list'), {
    about: 'list the users with their roles, and whether they can sign in',
    examples: ['user list', 'user list --format json'],
  })
    .addOption(TEXT_OR_JSON)
    .action(({ format }) =>
      inDirectory(async ({ directory }) => {
        const users = (await directory.people()).map(listed)
        printResult(format, { users }, toText(users))
      }),
    )
  return user
}

function declareAdd(user: Command): void {
  withHelp(user.command('add'), {
    about: 'add a user without a password, and print the id',
    note: 'The user can sign in after you set a password with `user password`.',
    examples: ['user add --email zoe@example.com --name Zoe --role member'],
  })
    .requiredOption('--email <address>', 'the address with which the user signs in')
    .requiredOption('--name <name>', 'the name that others see')
    .option('--id <id>', 'the id that policies use, as in user:<id> (a new UUID)')
    .option('--role <role...>', 'a role that the user has; repeat for more', [])
    .addOption(TEXT_OR_JSON)
    .action(({ email, name, id, role, format }) =>
      inDirectory(async (access) => {
        const { addUser } = await import('../../identity/directory/users.ts')
        const added = await addUser(access, { email, name, id, roles: role })
        printResult(format, { id: added, email, name, roles: role }, `${added}\n`)
        printNote(`Set a password with: sallyport user password ${email}\n`)
      }),
    )
}

function declarePassword(user: Command): void {
  withHelp(user.command('password'), {
    about: "set a user's password, and end all sessions of the user",
    note: 'On a terminal, the command asks for the password and does not show it; otherwise it reads standard input.',
    examples: [
      'user password zoe@example.com',
      'user password zoe@example.com < password.txt',
      'user password zoe@example.com --generate --one-time',
    ],
  })
    .argument(...USER)
    .option('--generate', 'generate a password, and print only it on standard output')
    .option('--one-time', 'the password is valid for one sign-in, which must set a new one (newPassword)')
    .addOption(TEXT_OR_JSON)
    .action((named, { generate, oneTime = false, format }) =>
      inDirectory(async (access) => {
        const { findUser } = await import('../../identity/directory/users.ts')
        const { createPasswords, generatePassword } = await import('../../identity/sign-in/password.ts')
        const { readPassword } = await import('../ask.ts')
        const { id } = await findUser(access, named)
        const password = generate ? generatePassword() : await readPassword()
        const hash = await createPasswords().hash(password)
        if (!(await access.directory.setPassword(id, { hash, oneTime })))
          throw new DirectoryError(`the user \`${id}\` is gone`)
        printNote(`${id} has a new password; all earlier sessions have ended.\n`)
        const made = generate ? { id, oneTime, password } : { id, oneTime }
        printResult(format, made, generate ? `${password}\n` : '')
      }),
    )
}

function declareRoles(user: Command): void {
  withHelp(user.command('roles'), {
    about: "replace a user's roles",
    note: 'The new roles take effect with the next request of each session.',
    examples: ['user roles zoe@example.com --role member --role support', 'user roles zoe@example.com --none'],
  })
    .argument(...USER)
    .option('--role <role...>', 'a role that the user has from now on; repeat for more', [])
    .option('--none', 'remove all roles')
    .addOption(TEXT_OR_JSON)
    .action((named, { role, none = false, format }) => {
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

function declareStanding(user: Command, name: 'disable' | 'enable', description: string): void {
  withHelp(user.command(name), {
    about: description,
    note: 'For a user who signs in elsewhere, or a caller with a key or a token, name the id (the subject).',
    examples: [`user ${name} zoe@example.com`],
  })
    .argument(...USER)
    .addOption(TEXT_OR_JSON)
    .action((named, { format }) =>
      inDirectory(async (access) => {
        const { subject, note } = await findSubject(access, named)
        const { enableUser } = await import('../../identity/directory/users.ts')
        await (name === 'enable' ? enableUser(access, subject) : access.directory.disable(subject))
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
