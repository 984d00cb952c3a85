/** sallyport decisions … */
import type { Command } from 'commander'
import { readConfig } from '../../config.ts'
import { decisionsCommand } from '../decisions-command.ts'
import { decisionsQueryCommand } from '../decisions-query-command.ts'
import { decisionsTailCommand } from '../decisions-tail-command.ts'

export function program(): Command {
  const file = () => readConfig(process.env).decisionLog.file
  return decisionsCommand([decisionsQueryCommand(file), decisionsTailCommand(file)])
}
