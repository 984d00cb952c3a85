/** sallyport keys … */
import type { Command } from 'commander'
import { readConfig } from '../../config.ts'
import { keysCommand } from '../keys-command.ts'
import { keysListCommand } from '../keys-list-command.ts'
import { keysRotateCommand } from '../keys-rotate-command.ts'

export function program(): Command {
  const dataDirectory = () => readConfig(process.env).dataDirectory
  return keysCommand([keysListCommand(dataDirectory), keysRotateCommand(dataDirectory)])
}
