/** sallyport openapi */
import { Command } from 'commander'
import { print } from '../../present/print.ts'
import { POLICIES, ROLES_OF_CALLER, SCHEMAS, settingsWith, withHelp } from '../options.ts'

export function openapiCommand() {
  return withHelp(new Command('openapi'), {
    about: 'print the OpenAPI document: all operations, or those of one caller',
    examples: ['openapi > openapi.json', 'openapi --role member --role support'],
  })
    .addOption(POLICIES)
    .addOption(SCHEMAS)
    .addOption(ROLES_OF_CALLER)
    .action(async (flags) => {
      const { openapiDocument } = await import('./document.ts')
      const { place, schemas, role } = await settingsWith(flags)
      print(`${JSON.stringify(await openapiDocument({ policies: place, schemas, role }), null, 2)}\n`)
    })
}
