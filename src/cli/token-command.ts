/** sallyport token */
import { Command, InvalidArgumentError } from 'commander'
import ms, { type StringValue } from 'ms'

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
      process.stdout.write(`${await issue({ subject, roles: role, lifetimeSeconds: expires })}\n`)
    })
}

/** Seconds. */
function lifetime(text: string): number {
  if (!/^[1-9]\d{0,5}[smhd]$/.test(text)) {
    throw new InvalidArgumentError('It is a whole number and a unit, as in 90s, 10m, 12h or 30d.')
  }
  return ms(text as StringValue) / 1000
}
