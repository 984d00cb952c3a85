/** sallyport schema …: examines schema files without a running server. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import { setExitCode } from '../base/command-process.ts'
import { printReport } from '../present/print.ts'
import { commandGroup, formats, POLICIES, settingsWith, withHelp } from './options.ts'

const FAIL_ON = ['breaking', 'data', 'policy'] as const

export function schemaCommand(): Command {
  return commandGroup('schema', 'check schema files, and tell what a change of them means', declareCheck, declareDiff)
}

function declareCheck(schema: Command): void {
  withHelp(schema.command('check'), {
    about: 'find mistakes in the schema files; each finding has its place and what to do',
    note: `The server doesn't start with such files. docs/schemas.md lists all errors.
This command doesn't read the policy files: policy check reads both folders.

Exit code: 0 without errors, 1 with errors, 2 when the check could not run.`,
    examples: ['schema check', 'schema check schemas-new --format sarif'],
  })
    .argument('[directory]', 'schema files (SCHEMAS, schemas)')
    .addOption(formats('text', 'json', 'sarif'))
    .action(async (schemas, { format }) => {
      const { checkSchemas, SCHEMA_CHECK_FORMATS } = await import('../tools/schema/check/check-schemas.ts')
      const report = await checkSchemas((await settingsWith({ ...(schemas && { schemas }) })).schemas)
      printReport(format, SCHEMA_CHECK_FORMATS[format](report))
      if (report.errors > 0) setExitCode(1)
    })
}

function declareDiff(schema: Command): void {
  withHelp(schema.command('diff'), {
    about: 'compare two versions of the schemas: what a change means for clients, stored data and policies',
    note: `OLD and NEW are each a directory or a git revision (main, HEAD~1, a tag, ...).
A revision can name a path from the top of the repository: main:deploy/schemas.
The policy files and the matrices are those of the working tree.
What may break counts as breaking. docs/changing-schemas.md lists the codes.
Exit code: 0, or 1 for a change that --fail-on names, or 2 when the schemas could not be compared.`,
    examples: ['schema diff main schemas --fail-on breaking,data,policy', 'schema diff HEAD~1 HEAD --format markdown'],
  })
    .argument('<old>', 'a directory, or a git revision')
    .argument('<new>', 'a directory, or a git revision')
    .option('--schemas <directory>', 'the path of the schema files within a revision (SCHEMAS, schemas)')
    .addOption(POLICIES)
    .option('--matrices <directory>', 'the matrices, if there are any', 'test/matrix')
    .addOption(formats('text', 'json', 'markdown', 'sarif'))
    .addOption(
      new Option(
        '--fail-on <what>',
        'exit with 1 if something breaks for clients, data or policy; repeat, or use commas',
      )
        .choices(FAIL_ON)
        .argParser(failOn)
        .default([], 'never'),
    )
    .action(async (before, after, { format, failOn, ...flags }) => {
      const { SCHEMA_DIFF_FORMATS } = await import('../tools/schema/diff/formats.ts')
      const { diffSchemas } = await import('../tools/schema/diff/compare-schemas.ts')
      const { breaksAny } = await import('../tools/schema/diff/schema-change.ts')
      const { schemas, matrices, place, now } = await settingsWith(flags)
      const report = await diffSchemas({ before, after, schemas, policies: place, matrices, now: new Date(now) })
      printReport(format, SCHEMA_DIFF_FORMATS[format](report))
      if (breaksAny(report, failOn)) setExitCode(1)
    })
}

function failOn(value: string, others: readonly string[]): readonly string[] {
  const named = value.split(',')
  if (named.every((one) => FAIL_ON.some((known) => known === one))) return [...others, ...named]
  throw new InvalidArgumentError(`Allowed choices are ${FAIL_ON.join(', ')}.`)
}
