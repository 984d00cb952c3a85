/** sallyport keys …: the embedded signing keys. */
import { Command } from 'commander'

export function keysCommand(commands: readonly Command[]): Command {
  const keys = new Command('keys').description('the embedded signing keys: listed and rotated beside a running server')
  for (const command of commands) keys.addCommand(command)
  return keys
}
