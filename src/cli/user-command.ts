/** sallyport user …: the people of the embedded directory. */
import { Command } from 'commander'

export function userCommand(commands: readonly Command[]): Command {
  const user = new Command('user').description(
    'people who sign in here: added, changed and shut out beside a running server',
  )
  for (const command of commands) user.addCommand(command)
  return user
}
