/** sallyport openapi */
import type { Command } from 'commander'
import { openapiCommand } from '../cli/openapi-command.ts'
import { readConfig } from '../config.ts'

export function program(): Command {
  return openapiCommand(() => readConfig(process.env))
}
