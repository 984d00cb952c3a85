/** sallyport key … */
import type { Command } from 'commander'
import { keyAddCommand } from '../cli/key-add-command.ts'
import { keyCommand } from '../cli/key-command.ts'
import { keyListCommand } from '../cli/key-list-command.ts'
import { keyRevokeCommand } from '../cli/key-revoke-command.ts'
import { openDirectory } from './open-directory.ts'

export function program(): Command {
  return keyCommand([keyAddCommand(openDirectory), keyListCommand(openDirectory), keyRevokeCommand(openDirectory)])
}
