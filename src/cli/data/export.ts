/** sallyport data export */
import { environment, setExitCode } from '../../base/command-process.ts'
import { readConfig } from '../../config/config.ts'
import { type CliCommand, gather } from '../options.ts'
import { AS, AS_ROLE, type ExportFlags } from './as-flags.ts'
import { DATABASE } from './database-flag.ts'

export function declareDataExport(data: CliCommand): void {
  data
    .command('export')
    .description('write the objects that the policy lets a caller list and read, one a line (NDJSON)')
    .requiredOption(...AS)
    .option(...AS_ROLE, gather)
    .option('--resource <name>', 'only objects of this resource; repeat for more', gather, [])
    .option('--output <file>', 'a new file (standard output)')
    .folders()
    .option(...DATABASE)
    .note(`Every request passes the stages of the server and has its decision record. Only rate limits are left out.
Conditions on the address or on a fresh sign-in don't hold. The last line counts the objects: a file without it is only
a part.

Exit code: 0 when the export is whole, 1 when the list of a resource that --resource names was refused, 2 when it could
not run or was stopped.`)
    .examples(
      'data export --as alice --output alice.ndjson',
      'data export --as audrey --role auditor --resource orders > orders.ndjson',
    )
    .action(async (flags: ExportFlags) => {
      const { exportAs } = await import('./export-as.ts')
      const config = readConfig({ ...environment(), INSTANCE: 'data-export' })
      const refused = await exportAs(flags, config)
      if (refused) setExitCode(1)
    })
}
