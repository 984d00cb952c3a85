/** sallyport key …: API keys, for machines that call the server. */
import { Command } from 'commander'

export function keyCommand(commands: readonly Command[]): Command {
  const key = new Command('key').description('API keys for machines: made, listed and revoked beside a running server')
  for (const command of commands) key.addCommand(command)
  return key
}
