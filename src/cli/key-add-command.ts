/** sallyport key add: makes an API key and prints it, the only time that it is seen. */
import { Command, InvalidArgumentError } from 'commander'
import { DURATION_FORM, readDuration } from '../base/duration.ts'
import { createApiKey, hashOfSecret } from '../identity/directory/api-key.ts'
import {
  type DirectoryAccess,
  DirectoryError,
  type OpenDirectory,
  refuseUndeclared,
  withDirectory,
} from '../identity/directory/directory-access.ts'
import { isSubject } from '../identity/subject.ts'
import { print, tell } from '../present/print.ts'
import { quote } from '../present/quote.ts'
import type { NewApiKey } from '../store/directory.ts'

interface Options {
  readonly subject: string
  readonly role: readonly string[]
  /** Milliseconds. */
  readonly expires: number
  readonly name: string
}

const MAX_NAME_LENGTH = 100

const HELP = `
The key is all that standard output gets:

  sallyport key add --subject robot --role auditor --expires 90d --name "nightly report" > robot.key
`

export function keyAddCommand(open: OpenDirectory): Command {
  return new Command('add')
    .description('make an API key and print it; it is shown this once')
    .requiredOption('--subject <id>', 'who calls with it', readSubject)
    .requiredOption('--role <role...>', 'a role that the key has; repeat for more')
    .requiredOption('--expires <duration>', 'how long it is valid: 12h, 90d', readExpiry)
    .option('--name <text>', 'what it is for', readName, '')
    .addHelpText('after', HELP)
    .action((options: Options) =>
      withDirectory(open, async (access) => {
        const { key, text } = await add(options, access)
        tell(`${describe(key)}${await warn(key, access)}`)
        print(`${text}\n`)
      }),
    )
}

async function add(
  options: Options,
  access: DirectoryAccess,
): Promise<{ readonly key: NewApiKey; readonly text: string }> {
  const { subject, role, expires, name } = options
  await refuseUndeclared(role, access)
  const { disabled, deleted } = await access.directory.standing(subject)
  if (disabled || deleted)
    throw new DirectoryError(`${quote(subject)} is ${disabled ? 'disabled' : 'deleted'}, and no key would let it in`)
  const { id, secret, text } = createApiKey()
  const createdAt = Date.now()
  const roles = [...new Set(role)]
  const key = { id, secretHash: hashOfSecret(secret), subject, roles, name, createdAt, expiresAt: createdAt + expires }
  await access.directory.addKey(key)
  return { key, text }
}

function describe({ id, subject, roles, expiresAt }: NewApiKey): string {
  return `API key ${id} of ${quote(subject)}, ${roles.join(', ')}, until ${new Date(expiresAt).toISOString()}; it is shown this once.
Revoke it with: sallyport key revoke ${id}
`
}

async function warn({ subject, roles }: NewApiKey, { directory }: DirectoryAccess): Promise<string> {
  const person = await directory.person(subject)
  const missing = person ? roles.filter((role) => !person.roles.includes(role)) : []
  if (missing.length === 0) return ''
  return `The users record of ${quote(subject)} lacks ${missing.join(', ')}: the key has no effect there until the record has it.\n`
}

function readSubject(text: string): string {
  if (isSubject(text)) return text
  throw new InvalidArgumentError('It has 1 to 128 characters, no control characters, and does not start with user:.')
}

/** Milliseconds. */
function readExpiry(text: string): number {
  const duration = readDuration(text)
  if (duration === undefined) throw new InvalidArgumentError(DURATION_FORM)
  return duration
}

function readName(text: string): string {
  if (text.length <= MAX_NAME_LENGTH && text.isWellFormed() && !/\p{Cc}/u.test(text)) return text
  throw new InvalidArgumentError(`It has at most ${MAX_NAME_LENGTH} characters, and no control characters.`)
}
