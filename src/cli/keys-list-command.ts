/** sallyport keys list: which embedded keys there are, and until when they verify. */
import { Command, Option } from 'commander'
import { findKeyFolder, readKeys, tidy } from '../identity/keys/key-folder.ts'
import { print } from '../present/print.ts'

interface Options {
  readonly format: 'text' | 'json'
}

interface Listed {
  readonly kid: string
  readonly state: 'signs' | 'verifies'
  readonly created: string
  readonly retired: string | null
  readonly ends: string | null
}

/** `dataDirectory`: where the keys are. */
export function keysListCommand(dataDirectory: () => string): Command {
  return new Command('list')
    .description('the embedded keys: which one signs, and until when the older ones verify')
    .addOption(new Option('--format <format>', 'how to print it').choices(['text', 'json']).default('text'))
    .action(async ({ format }: Options) => {
      const folder = await findKeyFolder(dataDirectory())
      await tidy(folder, Date.now())
      const keys = await listed(folder)
      print(format === 'json' ? `${JSON.stringify({ keys }, undefined, 2)}\n` : toText(keys))
    })
}

async function listed(folder: string): Promise<readonly Listed[]> {
  const { current, retired } = await readKeys(folder)
  const older = retired.toReversed().map(({ key, createdAt, retiredAt, endsAt }): Listed => {
    return { kid: key.kid, state: 'verifies', created: time(createdAt), retired: time(retiredAt), ends: time(endsAt) }
  })
  return [
    { kid: current.key.kid, state: 'signs', created: time(current.createdAt), retired: null, ends: null },
    ...older,
  ]
}

function toText(keys: readonly Listed[]): string {
  const lines = keys.map(({ kid, state, created, ends }) => {
    return `${kid}  ${state.padEnd(8)}  made ${created}${ends === null ? '' : `, until ${ends}`}\n`
  })
  return lines.join('')
}

function time(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}
