/** sallyport matrix …: what testers say that a server must answer, proven and completed. */
import { Command } from 'commander'

export function matrixCommand(commands: readonly Command[]): Command {
  const matrix = new Command('matrix').description('expectations of what each caller is answered: test them, and more')
  for (const command of commands) matrix.addCommand(command)
  return matrix
}
