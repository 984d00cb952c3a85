/** sallyport token */
import { Command, InvalidArgumentError } from 'commander'
import { DURATION_FORM, readDuration } from '../base/duration.ts'
import { print } from '../present/print.ts'

export interface TokenRequest {
  readonly subject: string
  readonly roles: readonly string[]
  readonly lifetimeSeconds: number
}

/** `issue` makes a token of the embedded key. */
export function tokenCommand(issue: (request: TokenRequest) => Promise<string>): Command {
  return new Command('token')
    .description('print a token signed by the embedded key')
    .requiredOption('--subject <id>', 'who the token is for')
    .option('--role <role...>', 'a role that the token claims; repeat for more', [])
    .option('--expires <duration>', 'how long it is valid: 10m, 12h, 30d', lifetime, 3600)
    .action(async ({ subject, role, expires }: { subject: string; role: string[]; expires: number }) => {
      print(`${await issue({ subject, roles: role, lifetimeSeconds: expires })}\n`)
    })
}

/** Seconds. */
function lifetime(text: string): number {
  const duration = readDuration(text)
  if (duration === undefined) throw new InvalidArgumentError(DURATION_FORM)
  return duration / 1000
}
