/** sallyport user … */
import type { Command } from 'commander'
import { userAddCommand } from '../user-add-command.ts'
import { userCommand } from '../user-command.ts'
import { userDisableCommand, userEnableCommand } from '../user-disable-command.ts'
import { userListCommand } from '../user-list-command.ts'
import { userPasswordCommand } from '../user-password-command.ts'
import { userRolesCommand } from '../user-roles-command.ts'
import { openDirectory } from './open-directory.ts'

export function program(): Command {
  return userCommand([
    userAddCommand(openDirectory),
    userPasswordCommand(openDirectory),
    userRolesCommand(openDirectory),
    userDisableCommand(openDirectory),
    userEnableCommand(openDirectory),
    userListCommand(openDirectory),
  ])
}
