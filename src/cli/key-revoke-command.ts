/** sallyport key revoke: an API key that counts no more, from the next request on. */
import { Command } from 'commander'
import { DirectoryError, type OpenDirectory, withDirectory } from '../identity/directory/directory-access.ts'
import { print } from '../present/print.ts'
import { quote } from '../present/quote.ts'

export function keyRevokeCommand(open: OpenDirectory): Command {
  return new Command('revoke')
    .description('take an API key away: no request with it is let in from now on')
    .argument('<id>', 'what key list calls it', readId)
    .action((id: string) =>
      withDirectory(open, async ({ directory }) => {
        const revoked = await directory.revokeKey(id)
        if (!revoked) throw new DirectoryError(`there is no API key ${quote(id)}; see sallyport key list`)
        print(`The API key ${id} is revoked.\n`)
      }),
    )
}

/** Somebody in a hurry may give the whole key, or its beginning: `sp_<id>_<secret>`. */
function readId(text: string): string {
  return text.startsWith('sp_') ? (text.split('_')[1] ?? '') : text
}
