/** sallyport decisions …: what the decision log says. */
import { Command } from 'commander'

export function decisionsCommand(commands: readonly Command[]): Command {
  const decisions = new Command('decisions').description('what was asked, and how it was decided: the decision log')
  for (const command of commands) decisions.addCommand(command)
  return decisions
}
