/** sallyport key …: API keys, for machines that call the server. */
import { InvalidArgumentError } from 'commander'
import { isSubject } from '../../identity/caller.ts'
import { type DirectoryAccess, DirectoryError } from '../../identity/directory/directory-access.ts'
import { issueKey } from '../../identity/directory/issue-key.ts'
import { printResult, tell } from '../../present/print.ts'
import { printable, quote } from '../../present/quote.ts'
import { table } from '../../present/text.ts'
import type { ApiKey, NewApiKey } from '../../store/directory.ts'
import { CliCommand, type FormatFlag, lifetime } from '../options.ts'
import { inDirectory } from './directory.ts'

interface AddFlags extends FormatFlag {
  readonly subject: string
  readonly role: readonly string[]
  /** Milliseconds. */
  readonly expires: number
  readonly name: string
}

const MAX_NAME_LENGTH = 100
const HEAD = ['KEY', 'STATE', 'SUBJECT', 'ROLES', 'CREATED', 'EXPIRES', 'LAST USED', 'NAME']

export function keyCommand(): CliCommand {
  const key = new CliCommand('key').description(
    'manage API keys, with which machines call the server; the server may be running',
  )
  key
    .command('add')
    .description('create an API key and print it; it is never shown again')
    .requiredOption('--subject <id>', 'the caller that uses the key', readSubject)
    .requiredOption('--role <role...>', 'a role that the key has; repeat for more')
    .requiredOption('--expires <duration>', 'how long the key is valid: 12h, 90d', lifetime)
    .option('--name <text>', 'the purpose of the key, shown in lists', readName, '')
    .formats()
    .note('Only the key goes to standard output; other lines go to standard error.')
    .examples('key add --subject robot --role auditor --expires 90d --name "nightly report" > robot.key')
    .action((flags: AddFlags) =>
      inDirectory(async (access) => {
        const { role: roles, ...wish } = flags
        const { key, text } = await issueKey({ ...wish, roles }, access)
        tell(`${describe(key)}${await warn(key, access)}`)
        printResult(flags.format, { key: text, ...publicOf(key) }, `${text}\n`)
      }),
    )
  key
    .command('list')
    .description('list the API keys with subject, roles, end and last use')
    .formats()
    .examples('key list', 'key list --format json')
    .action(({ format }: FormatFlag) =>
      inDirectory(async ({ directory }) => {
        const keys = await directory.keys()
        printResult(format, { keys: keys.map(listed) }, toText(keys))
      }),
    )
  key
    .command('revoke')
    .description('revoke an API key: the server refuses it from the next request on')
    .argument('<id>', 'the id that `key list` shows', readId)
    .formats()
    .examples('key revoke EcP2LDMWFc')
    .action((id: string, { format }: FormatFlag) =>
      inDirectory(async ({ directory }) => {
        const revoked = await directory.revokeKey(id)
        if (!revoked)
          throw new DirectoryError(`there is no API key ${quote(id)}: take an id from \`sallyport key list\``)
        printResult(format, { id, state: 'revoked' }, `The API key ${id} is revoked.\n`)
      }),
    )
  return key
}

function describe({ id, subject, roles, expiresAt }: NewApiKey): string {
  return `API key ${id} of ${quote(subject)}, ${roles.join(', ')}, until ${timeOf(expiresAt)}. It is never shown again.
Revoke it with: sallyport key revoke ${id}
`
}

async function warn({ subject, roles }: NewApiKey, { directory }: DirectoryAccess): Promise<string> {
  const person = await directory.person(subject)
  const missing = person ? roles.filter((role) => !person.roles.includes(role)) : []
  if (missing.length === 0) return ''
  const lacked = missing.join(', ')
  return `The users record of ${quote(subject)} lacks ${lacked}: add it to the record, or the key can't use it.\n`
}

function publicOf({ id, subject, roles, name, createdAt, expiresAt }: NewApiKey) {
  return { id, subject, roles, name, created: timeOf(createdAt), expires: timeOf(expiresAt) }
}

function listed(key: ApiKey) {
  const { id, ...rest } = publicOf(key)
  return { id, state: stateOf(key), ...rest, lastUsed: timeOf(key.lastUsedAt), revoked: timeOf(key.revokedAt) }
}

function toText(keys: readonly ApiKey[]): string {
  if (keys.length === 0) return 'There are no API keys.\n'
  const rows = keys.map((key) => {
    const { id, subject, roles, createdAt, expiresAt, lastUsedAt, name } = key
    const used = lastUsedAt === null ? 'never' : minuteOf(lastUsedAt)
    const cells = [id, stateOf(key), subject, roles.join(' '), minuteOf(createdAt), minuteOf(expiresAt), used, name]
    return cells.map(printable)
  })
  return `${table([HEAD, ...rows]).join('\n')}\n`
}

function stateOf({ revokedAt, expiresAt }: ApiKey): 'active' | 'expired' | 'revoked' {
  if (revokedAt !== null) return 'revoked'
  return expiresAt <= Date.now() ? 'expired' : 'active'
}

function timeOf(milliseconds: number | null): string | null {
  return milliseconds === null ? null : new Date(milliseconds).toISOString()
}

/** In a readable form: `2026-01-31 18:05Z`. */
function minuteOf(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 16).replace('T', ' ')}Z`
}

function readSubject(text: string): string {
  if (isSubject(text)) return text
  throw new InvalidArgumentError('It has 1 to 128 characters, no control characters, and does not start with user:.')
}

function readName(text: string): string {
  if (text.length <= MAX_NAME_LENGTH && text.isWellFormed() && !/\p{Cc}/u.test(text)) return text
  throw new InvalidArgumentError(`It has at most ${MAX_NAME_LENGTH} characters, and no control characters.`)
}

/** Also accepts the whole key, or the beginning of one: `sp_<id>_<secret>`. */
function readId(text: string): string {
  return text.startsWith('sp_') ? (text.split('_')[1] ?? '') : text
}
