/** sallyport key … */
import type { Command } from 'commander'
import { keyAddCommand } from '../key-add-command.ts'
import { keyCommand } from '../key-command.ts'
import { keyListCommand } from '../key-list-command.ts'
import { keyRevokeCommand } from '../key-revoke-command.ts'
import { openDirectory } from './open-directory.ts'

export function program(): Command {
  return keyCommand([keyAddCommand(openDirectory), keyListCommand(openDirectory), keyRevokeCommand(openDirectory)])
}
