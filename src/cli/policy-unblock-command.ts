/** sallyport policy unblock: takes a user out of blocked.txt. */
import { Command } from 'commander'
import type { OpenDirectory } from '../identity/directory/directory-access.ts'
import { idOf } from '../identity/directory/who-is-meant.ts'
import { print } from '../present/print.ts'
import { printable } from '../present/quote.ts'
import { unblock } from '../tools/release/blocks.ts'
import type { ReviewFolders } from './policy-command.ts'

export function policyUnblockCommand(folders: ReviewFolders, open: OpenDirectory): Command {
  return new Command('unblock')
    .description('take a user out of blocked.txt; the rules decide again')
    .argument('<user>', 'user:<id>, or the e-mail address of a user of this server')
    .option('--policies <dir>', 'the policy files in force (POLICIES, policies)')
    .action(async (named: string, options: { readonly policies?: string }) => {
      const { policies } = { ...folders(), ...options }
      const id = await idOf(open, named)
      const removed = await unblock(policies, id)
      const who = printable(`user:${id}`)
      print(removed > 0 ? `${who} is not blocked any more.\n` : `${who} was not blocked.\n`)
    })
}
