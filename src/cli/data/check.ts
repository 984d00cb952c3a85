/** sallyport data check */
import { setExitCode } from '../../base/command-process.ts'
import { printReport } from '../../present/print.ts'
import { type CliCommand, type FolderFlags, type FormatFlag, gather, type PolicySettings } from '../options.ts'
import { DATABASE, databaseNamed } from './database-flag.ts'

interface CheckFlags extends FolderFlags, FormatFlag {
  readonly database?: string
  readonly resource: readonly string[]
}

export function declareDataCheck(data: CliCommand, settings: PolicySettings): void {
  data
    .command('check')
    .description('find stored objects that do not fit the schemas, and what else is wrong with them')
    .folders()
    .option(...DATABASE)
    .option('--resource <name>', 'only objects of this resource; repeat for more', gather, [])
    .formats()
    .note(`It counts, for each resource and reason, the objects that PATCH and PUT would refuse as they are, with the
first ids. It also finds damaged documents, fields that name objects or users that do not exist, values that break
x-unique, and indexes that disagree with the objects. The policy tells which fields name objects.
It only reads, page by page, and a server may run meanwhile. What it could not check is listed as not checked.

Exit code: 0 when nothing was found, 1 with findings, 2 when the check could not run.`)
    .examples(
      'data check',
      'data check --schemas schemas-new --resource orders',
      'data check --database sqlite:data/sallyport.db --format json',
    )
    .action(async (flags: CheckFlags) => {
      const { checkDatabase } = await import('./check-database.ts')
      const { DATA_CHECK_FORMATS } = await import('../../tools/data/check/formats.ts')
      const usual = settings()
      const report = await checkDatabase({
        ...usual,
        database: databaseNamed(flags.database, usual.database),
        schemas: flags.schemas ?? usual.schemas,
        policies: flags.policies ?? usual.policies,
        only: flags.resource,
      })
      printReport(flags.format, DATA_CHECK_FORMATS[flags.format](report))
      if (report.findings.length > 0) setExitCode(1)
    })
}
