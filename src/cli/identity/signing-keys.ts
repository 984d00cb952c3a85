/** sallyport signing-keys …: the embedded signing keys. Its earlier name `keys` still works. */
import { environment } from '../../base/command-process.ts'
import { readConfig } from '../../config/config.ts'
import type { KeyPlace, Keys, RetiredKey } from '../../identity/keys/embedded/key-place.ts'
import type { KeyPlaceSettings } from '../../identity/keys/embedded/open-keys.ts'
import { print, printResult } from '../../present/print.ts'
import { CliCommand, type FormatFlag } from '../options.ts'

interface RotateFlags extends FormatFlag {
  readonly atOnce: boolean
}

export function signingKeysCommand(): CliCommand {
  const keys = new CliCommand('signing-keys').description(
    'list and rotate the embedded signing keys; the server may be running',
  )
  keys
    .command('list')
    .description('list the embedded keys: the key that signs, and the older keys with the time until which they verify')
    .formats()
    .examples('signing-keys list', 'signing-keys list --format json')
    .action(({ format }: FormatFlag) =>
      withKeys(async (place) => {
        await place.tidy()
        const listed = list(await place.read())
        printResult(format, { keys: listed }, listed.map(lineOf).join(''))
      }),
    )
  keys
    .command('rotate')
    .description('create a new signing key; tokens signed by older keys stay valid until they end')
    .option('--at-once', 'refuse all tokens of the older keys from now on; everybody must sign in again', false)
    .formats()
    .note(
      'Servers with this data folder, or with KEYS_SECRET and this database, use the new key within a second. ' +
        'If a key was stolen, use --at-once.',
    )
    .examples('signing-keys rotate', 'signing-keys rotate --at-once')
    .action(({ atOnce, format }: RotateFlags) =>
      withKeys(async (place) => {
        const before = (await place.read()).current
        const made = await place.succeed(before.number)
        const { kid } = (await place.read()).current.key
        const retired = atOnce ? await place.removeRetired() : await place.tidy()
        const older = retired.map(({ key, endsAt }) => ({ kid: key.kid, ends: atOnce ? null : timeOf(endsAt) }))
        const first = made
          ? `The key ${kid} signs tokens from now on.\n`
          : `Another command has just created the key ${kid}; it signs tokens from now on.\n`
        printResult(format, { kid, made, older }, first + older.map(sentenceOf).join(''))
      }),
    )
  keys
    .command('reencrypt')
    .description('encrypt the keys in the database under KEYS_SECRET; KEYS_SECRET_OLD decrypts them')
    .note('First start every server again with both settings. After the command, unset KEYS_SECRET_OLD everywhere.')
    .examples('signing-keys reencrypt')
    .action(async () => {
      const { encryptAgain } = await import('../../identity/keys/embedded/open-keys.ts')
      const count = await encryptAgain(settings())
      print(`Encrypted ${count} signing keys under KEYS_SECRET; the others were already.\n`)
    })
  return keys
}

async function withKeys(work: (place: KeyPlace) => Promise<void>): Promise<void> {
  const { findKeyPlace, withKeyPlace } = await import('../../identity/keys/embedded/open-keys.ts')
  const { refuseUnusedFolder } = await import('../../identity/keys/embedded/place-in-use.ts')
  await refuseUnusedFolder(settings())
  await withKeyPlace(() => findKeyPlace(settings()), work)
}

function settings(): KeyPlaceSettings {
  const { dataDirectory, database, tokens } = readConfig(environment())
  return { dataDirectory, database, secrets: tokens.keys.kind === 'embedded' ? tokens.keys.secrets : undefined }
}

interface Listed {
  readonly kid: string
  readonly state: 'signs' | 'verifies'
  readonly created: string
  readonly retired: string | null
  readonly ends: string | null
}

function list({ current, retired }: Keys): readonly Listed[] {
  const older = retired.toReversed().map(({ key, createdAt, retiredAt, endsAt }: RetiredKey): Listed => {
    const times = { created: timeOf(createdAt), retired: timeOf(retiredAt), ends: timeOf(endsAt) }
    return { kid: key.kid, state: 'verifies', ...times }
  })
  const signs: Listed = {
    kid: current.key.kid,
    state: 'signs',
    created: timeOf(current.createdAt),
    retired: null,
    ends: null,
  }
  return [signs, ...older]
}

function lineOf({ kid, state, created, ends }: Listed): string {
  return `${kid}  ${state.padEnd(8)}  made ${created}${ends === null ? '' : `, until ${ends}`}\n`
}

function sentenceOf({ kid, ends }: Pick<Listed, 'kid' | 'ends'>): string {
  if (ends === null) return `The key ${kid} is removed; the server refuses its tokens.\n`
  return `The key ${kid} verifies tokens until ${ends}, when its last token ends.\n`
}

function timeOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}
