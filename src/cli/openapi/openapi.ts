/** sallyport openapi */
import { Command } from 'commander'
import { readConfig } from '../../config.ts'
import { print } from '../../present/print.ts'
import { examples, POLICIES, SCHEMAS } from '../options.ts'

interface Folders {
  readonly policies: string
  readonly schemas: string
}

interface Flags extends Partial<Folders> {
  readonly role: readonly string[]
}

export function openapiCommand(usual: () => Folders = () => readConfig(process.env)): Command {
  return new Command('openapi')
    .description('print the OpenAPI document: everything, or what a caller has')
    .option(...POLICIES)
    .option(...SCHEMAS)
    .option('--role <name...>', 'only what a caller with this role has, or anonymous; repeat for more roles', [])
    .addHelpText('after', examples('', 'openapi > openapi.json', 'openapi --role member --role support'))
    .action(async (flags: Flags) => {
      const { documentOf } = await import('./document.ts')
      print(`${JSON.stringify(await documentOf({ ...usual(), ...flags }), null, 2)}\n`)
    })
}
