/** sallyport key …, signing-keys … (formerly `keys`) and token: what callers show, and the embedded keys that sign it. */
import { Command, InvalidArgumentError, Option } from 'commander'
import { environment } from '../../base/command-process.ts'
import { FileError } from '../../base/diagnostic.ts'
import { didYouMean } from '../../base/did-you-mean.ts'
import { type Config, readConfig } from '../../config/config.ts'
import { ConfigError } from '../../config/values.ts'
import { isSubject } from '../../identity/caller.ts'
import { type DirectoryAccess, DirectoryError } from '../../identity/directory/directory-access.ts'
import { issueKey } from '../../identity/directory/issue-key.ts'
import type { RetiredKey, RingKeys } from '../../identity/keys/embedded/embedded-key.ts'
import type { KeptKeys, KeyPlaceSettings } from '../../identity/keys/embedded/kept-keys.ts'
import { print, printNote, printResult } from '../../present/print.ts'
import { printable, quote } from '../../present/quote.ts'
import { table } from '../../present/text.ts'
import type { ApiKey, NewApiKey } from '../../store/directory.ts'
import { lifetime, TEXT_OR_JSON, withHelp } from '../options.ts'
import { inDirectory } from './directory.ts'

const MAX_NAME_LENGTH = 100
const HEAD = ['KEY', 'STATE', 'SUBJECT', 'ROLES', 'CREATED', 'EXPIRES', 'LAST USED', 'NAME']

export function keyCommand(): Command {
  const key = new Command('key').description(
    'manage API keys, with which machines call the server; the server may be running',
  )
  withHelp(key.command('add'), {
    about: 'create an API key and print it; it is never shown again',
    note: 'Only the key goes to standard output; other lines go to standard error.',
    examples: ['key add --subject robot --role auditor --expires 90d --name "nightly report" > robot.key'],
  })
    .requiredOption('--subject <id>', 'the caller that uses the key', readSubject)
    .requiredOption('--role <role...>', 'a role that the key has; repeat for more')
    .requiredOption('--expires <duration>', 'how long the key is valid: 12h, 90d', lifetime)
    .option('--name <text>', 'the purpose of the key, shown in lists', readName, '')
    .addOption(TEXT_OR_JSON)
    .action((flags) =>
      inDirectory(async (access) => {
        const { role: roles, ...wish } = flags
        const { key, text } = await issueKey({ ...wish, roles }, access)
        printNote(`${describe(key)}${await warn(key, access)}`)
        printResult(flags.format, { key: text, ...publicOf(key) }, `${text}\n`)
      }),
    )
  withHelp(key.command('list'), {
    about: 'list the API keys with subject, roles, end and last use',
    examples: ['key list', 'key list --format json'],
  })
    .addOption(TEXT_OR_JSON)
    .action(({ format }) =>
      inDirectory(async ({ directory }) => {
        const keys = await directory.keys()
        printResult(format, { keys: keys.map(listed) }, toText(keys))
      }),
    )
  withHelp(key.command('revoke'), {
    about: 'revoke an API key: the server refuses it from the next request on',
    examples: ['key revoke EcP2LDMWFc'],
  })
    .argument('<id>', 'the id that `key list` shows', readId)
    .addOption(TEXT_OR_JSON)
    .action((id, { format }) =>
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

function timeOf(milliseconds: number): string
function timeOf(milliseconds: number | null): string | null
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

export function signingKeysCommand(): Command {
  const keys = new Command('signing-keys').description(
    'list and rotate the embedded signing keys; the server may be running',
  )
  withHelp(keys.command('list'), {
    about: 'list the embedded keys: the key that signs, and the older keys with the time until which they verify',
    examples: ['signing-keys list', 'signing-keys list --format json'],
  })
    .addOption(TEXT_OR_JSON)
    .action(({ format }) =>
      inKeys(async (kept) => {
        await kept.tidy()
        const listed = list(await kept.read())
        printResult(format, { keys: listed }, listed.map(lineOf).join(''))
      }),
    )
  withHelp(keys.command('rotate'), {
    about: 'create a new signing key; tokens signed by older keys stay valid until they end',
    note: 'Servers with this database use the new key within a second. If a key was stolen, use --at-once.',
    examples: ['signing-keys rotate', 'signing-keys rotate --at-once'],
  })
    .option('--at-once', 'refuse all tokens of the older keys from now on; everybody must sign in again', false)
    .addOption(TEXT_OR_JSON)
    .action(({ atOnce, format }) =>
      inKeys(async (kept) => {
        const before = (await kept.read()).current
        const made = await kept.succeed(before.number)
        const { kid } = (await kept.read()).current.key
        const retired = atOnce ? await kept.removeRetired() : await kept.tidy()
        const older = retired.map(({ key, endsAt }) => ({ kid: key.kid, ends: atOnce ? null : timeOf(endsAt) }))
        const first = made
          ? `The key ${kid} signs tokens from now on.\n`
          : `Another command has just created the key ${kid}; it signs tokens from now on.\n`
        printResult(format, { kid, made, older }, first + older.map(sentenceOf).join(''))
      }),
    )
  withHelp(keys.command('reencrypt'), {
    about: 'encrypt the keys in the database under KEYS_SECRET; KEYS_SECRET_OLD decrypts them',
    note: 'First start every server again with both settings. After the command, unset KEYS_SECRET_OLD everywhere.',
    examples: ['signing-keys reencrypt'],
  }).action(async () => {
    const { withKeys } = await import('../../identity/keys/embedded/kept-keys.ts')
    const place = await placeOf(readConfig(environment()))
    if (!place.secrets) throw new ConfigError('KEYS_SECRET is not set; set it to the value that is to encrypt the keys')
    const count = await withKeys(place, (kept) => kept.encryptAgain())
    print(`Encrypted ${count} signing keys under KEYS_SECRET; the others were already.\n`)
  })
  return keys
}

async function inKeys(work: (kept: KeptKeys) => Promise<void>): Promise<void> {
  const { withKeys } = await import('../../identity/keys/embedded/kept-keys.ts')
  await withKeys(await placeOf(readConfig(environment())), work)
}

async function placeOf(config: Config): Promise<KeyPlaceSettings> {
  const { keyPlaceOf } = await import('../../identity/keys/embedded/kept-keys.ts')
  const place = keyPlaceOf(config)
  if (place) return place
  throw new ConfigError(
    'the server accepts only tokens of JWT_JWKS_URL or JWT_PUBLIC_KEY: unset it to use the embedded key',
  )
}

interface ListedKey {
  readonly kid: string
  readonly state: 'signs' | 'verifies'
  readonly created: string
  readonly retired: string | null
  readonly ends: string | null
}

function list({ current, retired }: RingKeys): readonly ListedKey[] {
  const older = retired.toReversed().map(({ key, createdAt, retiredAt, endsAt }: RetiredKey): ListedKey => {
    const times = { created: timeOf(createdAt), retired: timeOf(retiredAt), ends: timeOf(endsAt) }
    return { kid: key.kid, state: 'verifies', ...times }
  })
  const signs: ListedKey = {
    kid: current.key.kid,
    state: 'signs',
    created: timeOf(current.createdAt),
    retired: null,
    ends: null,
  }
  return [signs, ...older]
}

function lineOf({ kid, state, created, ends }: ListedKey): string {
  return `${kid}  ${state.padEnd(8)}  made ${created}${ends === null ? '' : `, until ${ends}`}\n`
}

function sentenceOf({ kid, ends }: Pick<ListedKey, 'kid' | 'ends'>): string {
  if (ends === null) return `The key ${kid} is removed; the server refuses its tokens.\n`
  return `The key ${kid} verifies tokens until ${ends}, when its last token ends.\n`
}

const EXPIRES = new Option('--expires <duration>', 'how long the token is valid: 10m, 12h, 30d')
  .argParser(lifetime)
  .default(3_600_000, '1h')

export function tokenCommand(): Command {
  return withHelp(new Command('token'), {
    about: 'print a token signed by the embedded key',
    examples: ['token --subject alice --role member --expires 12h'],
  })
    .requiredOption('--subject <id>', 'the caller that uses the token', readSubject)
    .option('--role <role...>', 'a role that the token claims; repeat for more', [])
    .addOption(EXPIRES)
    .addOption(TEXT_OR_JSON)
    .action(async ({ subject, role, expires, format }) => {
      const config = readConfig(environment())
      const place = await placeOf(config)
      await warnOfUndeclared(config, role)
      const token = await sign(place, config, { subject, roles: role, lifetimeSeconds: expires / 1000 })
      printResult(format, { token, subject, roles: role, lifetimeSeconds: expires / 1000 }, `${token}\n`)
    })
}

/** Roles that roles.yaml doesn't declare grant nothing (semantics.md). Ignores files that are missing or wrong. */
async function warnOfUndeclared({ policies }: Config, roles: readonly string[]): Promise<void> {
  const { parseRoles } = await import('../../policy/parse/parse-vocabulary.ts')
  const { readPolicyFiles } = await import('../../policy/policy-files.ts')
  try {
    const files = await readPolicyFiles(policies)
    const declared = parseRoles(files['roles.yaml'], (diagnostic) => {
      throw new FileError([diagnostic])
    })
    for (const role of roles.filter((one) => !declared.has(one))) {
      const meant = didYouMean(role, declared.keys())
      const warning = `roles.yaml of ${policies} declares no role \`${role}\`, so it grants nothing${meant}`
      printNote(`sallyport: ${printable(warning)}\n`)
    }
  } catch (error) {
    if (!(error instanceof FileError) && !(error as NodeJS.ErrnoException).syscall) throw error
  }
}

interface TokenRequest {
  readonly subject: string
  readonly roles: readonly string[]
  readonly lifetimeSeconds: number
}

/** The key remains valid for longer than the token, even if it is rotated. */
async function sign(place: KeyPlaceSettings, { tokens }: Config, request: TokenRequest): Promise<string> {
  const { withKeys } = await import('../../identity/keys/embedded/kept-keys.ts')
  const { issueToken } = await import('../../identity/tokens/issue-token.ts')
  return withKeys(place, async (kept) => {
    const { current } = await kept.read()
    await kept.noteToken(current, request.lifetimeSeconds * 1000)
    return issueToken(current.key, { ...request, issuer: tokens.issuer, audience: tokens.audience })
  })
}
