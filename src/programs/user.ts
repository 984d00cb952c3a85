/** sallyport user … */
import type { Command } from 'commander'
import { userAddCommand } from '../cli/user-add-command.ts'
import { userCommand } from '../cli/user-command.ts'
import { userDisableCommand, userEnableCommand } from '../cli/user-disable-command.ts'
import { userListCommand } from '../cli/user-list-command.ts'
import { userPasswordCommand } from '../cli/user-password-command.ts'
import { userRolesCommand } from '../cli/user-roles-command.ts'
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
