/** sallyport openapi */
import { environment } from '../../base/command-process.ts'
import { readConfig } from '../../config/config.ts'
import { print } from '../../present/print.ts'
import { CliCommand, type FolderFlags, type PolicySettings } from '../options.ts'

interface Flags extends FolderFlags {
  readonly role: readonly string[]
}

export function openapiCommand(settings: PolicySettings = () => readConfig(environment())): CliCommand {
  return new CliCommand('openapi')
    .description('print the OpenAPI document: all operations, or those of one caller')
    .folders()
    .option(
      '--role <name...>',
      'only what a caller with this role (or anonymous) may do; repeat for a caller with several roles',
      [],
    )
    .examples('openapi > openapi.json', 'openapi --role member --role support')
    .action(async (flags: Flags) => {
      const { openapiDocument } = await import('./document.ts')
      const { policyPlace } = await import('../policy/policy-place.ts')
      const usual = settings()
      const policies = policyPlace(flags.policies ?? usual.policies, usual)
      print(`${JSON.stringify(await openapiDocument({ ...usual, ...flags, policies }), null, 2)}\n`)
    })
}
