/** sallyport policy unblock: takes a user out of blocked.txt. */
import { Command, InvalidArgumentError } from 'commander'
import { print } from '../problems/print.ts'
import { unblock } from '../release/blocks.ts'
import { printable } from '../review/explain/quote.ts'
import type { ReviewFolders } from './policy-command.ts'

export function policyUnblockCommand(folders: ReviewFolders): Command {
  return new Command('unblock')
    .description('take a user out of blocked.txt; the rules decide again')
    .argument('<user>', 'user:<id>', readUser)
    .option('--policies <dir>', 'the policy files in force (POLICIES, policies)')
    .action(async (id: string, options: { readonly policies?: string }) => {
      const { policies } = { ...folders(), ...options }
      const removed = await unblock(policies, id)
      const who = printable(`user:${id}`)
      print(removed > 0 ? `${who} is not blocked any more.\n` : `${who} was not blocked.\n`)
    })
}

function readUser(text: string): string {
  if (!text.startsWith('user:') || text.length === 'user:'.length)
    throw new InvalidArgumentError('It must be user:<id>.')
  return text.slice('user:'.length)
}
