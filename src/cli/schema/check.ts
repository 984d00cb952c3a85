/** sallyport schema check */
import { setExitCode } from '../../base/command-process.ts'
import { printReport } from '../../present/print.ts'
import type { CliCommand } from '../options.ts'

interface CheckFlags {
  readonly format: 'text' | 'json' | 'sarif'
}

export function declareSchemaCheck(schema: CliCommand, usual: () => { readonly schemas: string }): void {
  schema
    .command('check')
    .description('find mistakes in the schema files; each finding has its place and what to do')
    .argument('[directory]', 'schema files (SCHEMAS, schemas)')
    .formats('text', 'json', 'sarif')
    .note(`The server doesn't start with such files. docs/schemas.md lists all errors.
This command doesn't read the policy files: policy check reads both folders.

Exit code: 0 without errors, 1 with errors, 2 when the check could not run.`)
    .examples('schema check', 'schema check schemas-new --format sarif')
    .action(async (directory: string | undefined, flags: CheckFlags) => {
      const { checkSchemas, SCHEMA_CHECK_FORMATS } = await import('../../tools/schema/check/check-schemas.ts')
      const report = await checkSchemas(directory ?? usual().schemas)
      printReport(flags.format, SCHEMA_CHECK_FORMATS[flags.format](report))
      if (report.errors > 0) setExitCode(1)
    })
}
