/** sallyport data import */

import { InvalidArgumentError } from 'commander'
import { environment, setExitCode } from '../../base/command-process.ts'
import { readConfig } from '../../config/config.ts'
import { printReport } from '../../present/print.ts'
import { type CliCommand, gather } from '../options.ts'
import { AS, AS_ROLE, type ImportFlags } from './as-flags.ts'
import { DATABASE } from './database-flag.ts'

export function declareDataImport(data: CliCommand): void {
  data
    .command('import')
    .description('create the objects of a file as a caller, each as a POST that the policy allows or refuses')
    .argument('<file>', 'an object a line, as `data export` writes them')
    .requiredOption(...AS)
    .option(...AS_ROLE, gather)
    .option('--keep-ids', 'keep the ids, for a caller who may create any object with the field id')
    .option('--from-line <number>', 'skip the lines before this one', lineNumber, 1)
    .option('--incomplete', 'import a file without the last line of an export')
    .option('--again', 'create the objects again that an earlier run has created')
    .folders()
    .option(...DATABASE)
    .formats()
    .note(`Every request passes the stages of the server and has its decision record. Only rate limits are left out.
Without --keep-ids, objects get new ids, and fields that name objects of the file get the new ids too. The server sets
its own fields. A repeat within 24 hours creates no object twice.

Exit code: 0 when all lines are written, 1 when some were refused, 2 when it could not run or was stopped.`)
    .examples(
      'data import alice.ndjson --as alice',
      'data import all.ndjson --as ada --role admin --keep-ids --format json',
    )
    .action(async (file: string, flags: ImportFlags) => {
      const { importAs } = await import('./import-as.ts')
      const { IMPORT_FORMATS } = await import('../../tools/data/import/formats.ts')
      const report = await importAs(file, flags, readConfig({ ...environment(), INSTANCE: 'data-import' }))
      printReport(flags.format, IMPORT_FORMATS[flags.format](report))
      if (report.stopped) setExitCode(2)
      else if (report.refused > 0) setExitCode(1)
    })
}

function lineNumber(text: string): number {
  if (/^[1-9]\d{0,9}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be the number of a line, counted from 1.')
}
