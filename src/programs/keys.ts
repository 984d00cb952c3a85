/** sallyport keys … */
import type { Command } from 'commander'
import { keysCommand } from '../cli/keys-command.ts'
import { keysListCommand } from '../cli/keys-list-command.ts'
import { keysRotateCommand } from '../cli/keys-rotate-command.ts'
import { readConfig } from '../config.ts'

export function program(): Command {
  const dataDirectory = () => readConfig(process.env).dataDirectory
  return keysCommand([keysListCommand(dataDirectory), keysRotateCommand(dataDirectory)])
}
