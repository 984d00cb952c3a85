/** sallyport keys rotate: a new key signs from now on; the older ones verify until the tokens that they signed have ended. */
import { Command } from 'commander'
import { findKeyFolder, type RetiredKey, readKeys, removeRetired, succeed, tidy } from '../identity/keys/key-folder.ts'
import { print } from '../present/print.ts'

interface Options {
  readonly atOnce: boolean
}

const HELP = `
Servers that share the data folder take the new key within a second. After a key was stolen:

  sallyport keys rotate --at-once
`

/** `dataDirectory`: where the keys are. */
export function keysRotateCommand(dataDirectory: () => string): Command {
  return new Command('rotate')
    .description('make a new signing key; tokens of the older ones stay valid until they end')
    .option('--at-once', 'refuse all tokens of the older keys from now on: everybody signs in again', false)
    .addHelpText('after', HELP)
    .action(async ({ atOnce }: Options) => {
      const folder = await findKeyFolder(dataDirectory())
      const before = (await readKeys(folder)).current
      const made = await succeed(folder, before.number)
      const { kid } = (await readKeys(folder)).current.key
      print(made ? `The key ${kid} signs from now on.\n` : `Another command has just made the key ${kid}.\n`)
      print(tell(atOnce ? await removeRetired(folder) : await tidy(folder, Date.now()), atOnce))
    })
}

function tell(retired: readonly RetiredKey[], atOnce: boolean): string {
  const lines = retired.map(({ key: { kid }, endsAt }) => {
    if (atOnce) return `The key ${kid} was taken away: no token of it is accepted any more.\n`
    return `The key ${kid} verifies until ${new Date(endsAt).toISOString()}, when its last token has ended.\n`
  })
  return lines.join('')
}
