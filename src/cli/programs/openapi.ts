/** sallyport openapi */
import type { Command } from 'commander'
import { readConfig } from '../../config.ts'
import { openapiCommand } from '../openapi-command.ts'

export function program(): Command {
  return openapiCommand(() => readConfig(process.env))
}
