/** sallyport data …: looks at the objects in a database, and changes them as a whole. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import { environment, setExitCode } from '../../base/command-process.ts'
import { printReport } from '../../present/print.ts'
import {
  commandGroup,
  DATABASE,
  gather,
  MIGRATIONS,
  POLICIES,
  SCHEMAS,
  settingsWith,
  TEXT_OR_JSON,
  withHelp,
} from '../options.ts'

const AS = new Option('--as <subject>', 'the id of the caller').makeOptionMandatory()
const AS_ROLE = new Option(
  '--role <name>',
  'a role of the caller; repeat for more (the roles of the users record)',
).argParser(gather)
const RESOURCE = new Option('--resource <name>', 'only objects of this resource; repeat for more')
  .argParser(gather)
  .default([])

export function dataCommand(program: string): Command {
  return commandGroup(
    'data',
    'check, migrate, export and import the objects in a database, and erase their past',
    declareCheck,
    (data) => declareMigrate(data, program),
    declareExport,
    declareImport,
    declareEraseHistory,
  )
}

function declareCheck(data: Command): void {
  withHelp(data.command('check'), {
    about: 'find stored objects that do not fit the schemas, and what else is wrong with them',
    note: `It counts, for each resource and reason, the objects that PATCH and PUT would refuse as they are, with the
first ids. It also finds damaged documents, fields that name objects or users that do not exist, values that break
x-unique, indexes that disagree with the objects, and people and API keys whose roles
break guarantees.yaml. The policy tells which fields name objects.
It only reads, page by page, and a server may run meanwhile. What it could not check is listed as not checked.

Exit code: 0 when nothing was found, 1 with findings, 2 when the check could not run.`,
    examples: [
      'data check',
      'data check --schemas schemas-new --resource orders',
      'data check --database sqlite:data/sallyport.db --format json',
    ],
  })
    .addOption(POLICIES)
    .addOption(SCHEMAS)
    .addOption(DATABASE)
    .addOption(RESOURCE)
    .addOption(TEXT_OR_JSON)
    .action(async ({ format, resource: only, ...flags }) => {
      const { checkDatabase } = await import('./run-data.ts')
      const { DATA_CHECK_FORMATS } = await import('../../tools/data/check/formats.ts')
      const report = await checkDatabase({ ...(await settingsWith(flags)), only })
      printReport(format, DATA_CHECK_FORMATS[format](report))
      if (report.findings.length > 0) setExitCode(1)
    })
}

function declareMigrate(data: Command, program: string): void {
  withHelp(data.command('migrate'), {
    about: 'change the stored objects as the files of migrations/ say, after a backup',
    note: `First it looks at all objects: if one would not fit the schemas afterwards, it changes nothing. Then it
makes a backup in DATA_DIR/backups, and changes the objects in batches; each batch is stored as a whole, or not
at all. Ctrl-C stops it after a batch; the same command goes on. Servers of the new schemas refuse to start until it
has ended. Servers may run beside it if the objects fit their schemas before and after. Stop all others first: what
they write meanwhile doesn't fit, and only \`data check\` finds it.

Exit code: 0 when it ended, 1 when it was stopped or an object would not fit, 2 when it could not run.`,
    examples: ['data migrate --draft', 'data migrate --dry-run', 'data migrate', 'data migrate --status --format json'],
  })
    .addOption(POLICIES)
    .addOption(SCHEMAS)
    .addOption(MIGRATIONS)
    .option('--dry-run', 'change nothing: show how many objects would change, and ten of them')
    .option('--status', 'only say which migrations ran, and which have still to run')
    .option('--draft', 'only write a first file for a change of the schemas, for you to finish')
    .option('--from <directory>', 'with --draft: the old schemas (those that the objects last fitted)')
    .option('--to <directory>', 'with --draft: the new schemas (SCHEMAS, schemas)')
    .option('--no-backup', 'make no backup first, because you have made one')
    .addOption(TEXT_OR_JSON)
    .action(async (flags) => {
      const { migrateData } = await import('./migrate.ts')
      const named = flags.migrations ?? environment().MIGRATIONS
      await migrateData({ ...(await settingsWith(flags)), named }, program)
    })
}

function declareExport(data: Command): void {
  withHelp(data.command('export'), {
    about: 'write the objects that the policy lets a caller list and read, one a line (NDJSON)',
    note: `Every request passes the stages of the server and has its decision record. Only rate limits are left out.
Conditions on the address or on a fresh sign-in don't hold. The last line counts the objects: a file without it is only
a part.

Exit code: 0 when the export is whole, 1 when the list of a resource that --resource names was refused, 2 when it could
not run or was stopped.`,
    examples: [
      'data export --as alice --output alice.ndjson',
      'data export --as audrey --role auditor --resource orders > orders.ndjson',
    ],
  })
    .addOption(AS)
    .addOption(AS_ROLE)
    .addOption(RESOURCE)
    .option('--output <file>', 'a new file (standard output)')
    .addOption(POLICIES)
    .addOption(SCHEMAS)
    .addOption(DATABASE)
    .action(async (flags) => {
      const { exportAs } = await import('./run-data.ts')
      const isRefused = await exportAs(await settingsWith(flags, 'data-export'))
      if (isRefused) setExitCode(1)
    })
}

function declareImport(data: Command): void {
  withHelp(data.command('import'), {
    about: 'create the objects of a file as a caller, each as a POST that the policy allows or refuses',
    note: `Every request passes the stages of the server and has its decision record. Only rate limits are left out.
Without --keep-ids, objects get new ids, and fields that name objects of the file get the new ids too. The server sets
its own fields. A repeat within 24 hours creates no object twice.

Exit code: 0 when all lines are written, 1 when some were refused, 2 when it could not run or was stopped.`,
    examples: [
      'data import alice.ndjson --as alice',
      'data import all.ndjson --as ada --role admin --keep-ids --format json',
    ],
  })
    .argument('<file>', 'an object a line, as `data export` writes them')
    .addOption(AS)
    .addOption(AS_ROLE)
    .option('--keep-ids', 'keep the ids, for a caller who may create any object with the field id')
    .option('--from-line <number>', 'skip the lines before this one', lineNumber, 1)
    .option('--incomplete', 'import a file without the last line of an export')
    .option('--again', 'create the objects again that an earlier run has created')
    .addOption(POLICIES)
    .addOption(SCHEMAS)
    .addOption(DATABASE)
    .addOption(TEXT_OR_JSON)
    .action(async (file, { format, ...flags }) => {
      const { importAs } = await import('./run-data.ts')
      const { IMPORT_FORMATS } = await import('../../tools/data/import/formats.ts')
      const report = await importAs(file, await settingsWith(flags, 'data-import'))
      printReport(format, IMPORT_FORMATS[format](report))
      if (report.stopped) setExitCode(2)
      else if (report.refused > 0) setExitCode(1)
    })
}

function declareEraseHistory(data: Command): void {
  withHelp(data.command('erase-history'), {
    about: 'take a field, or everything, out of all former versions of an object, or the writer out of all versions',
    note: `Change or delete the object first: it stays as it is. With --field, its versions stay, without the field. With
--writer, all versions that this subject wrote stay, and no longer tell who wrote them. It can't be undone, and a server
may run meanwhile. Backups aren't changed.

Exit code: 0 when it was erased or there was nothing to erase, 2 when it could not run.`,
    examples: [
      'data erase-history --resource users --id alice --field bio',
      'data erase-history --resource users --id alice',
      'data erase-history --writer alice',
    ],
  })
    .option('--resource <name>', 'the resource of the object')
    .option('--id <id>', 'the id of the object')
    .option('--field <name>', 'only this field')
    .addOption(new Option('--writer <subject>', 'who wrote').conflicts(['resource', 'id', 'field']))
    .addOption(SCHEMAS)
    .addOption(DATABASE)
    .action(async (flags) => {
      const { eraseHistory } = await import('./run-data.ts')
      await eraseHistory(await settingsWith(flags))
    })
}

function lineNumber(text: string): number {
  if (/^[1-9]\d{0,9}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be the number of a line, counted from 1.')
}
