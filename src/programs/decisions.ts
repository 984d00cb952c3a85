/** sallyport decisions … */
import type { Command } from 'commander'
import { decisionsCommand } from '../cli/decisions-command.ts'
import { decisionsQueryCommand } from '../cli/decisions-query-command.ts'
import { decisionsTailCommand } from '../cli/decisions-tail-command.ts'
import { readConfig } from '../config.ts'

export function program(): Command {
  const file = () => readConfig(process.env).decisionLog.file
  return decisionsCommand([decisionsQueryCommand(file), decisionsTailCommand(file)])
}
