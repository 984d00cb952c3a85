/** sallyport policy check */

import { Option } from 'commander'
import { setExitCode } from '../../base/command-process.ts'
import { printReport } from '../../present/print.ts'
import {
  AT,
  type CliCommand,
  type FolderFlags,
  loadSchemaFiles,
  POLICY,
  type PolicySettings,
  SCHEMAS,
  timeAt,
} from '../options.ts'

interface CheckFlags extends FolderFlags {
  readonly directory?: string
  readonly format: 'text' | 'json' | 'sarif'
  readonly failOn: 'error' | 'warning'
  readonly at?: string
}

export function declareCheck(policy: CliCommand, settings: PolicySettings, now: () => number): void {
  policy
    .command('check')
    .description('find mistakes in the policy files; each finding has its place and what to do')
    .argument('[policy]', POLICY)
    .option(...SCHEMAS)
    .option(
      '--directory <file>',
      'the users that exist: a text file with one id a line, or a database file of the server',
    )
    .formats('text', 'json', 'sarif')
    .addOption(
      new Option('--fail-on <severity>', 'the lowest severity that gives exit code 1')
        .choices(['error', 'warning'])
        .default('error'),
    )
    .option(...AT)
    .note(`The server refuses files with errors. It accepts warnings, but they are probably mistakes.
docs/checks.md lists all errors and warnings.
To suppress a warning, write a comment line above its line: # check-ignore CODE: reason

Exit code: 0 without errors, 1 with errors (with --fail-on warning, also with warnings), 2 when the check could not
run, for example with a broken schema file.`)
    .examples('policy check', 'policy check policies-new --fail-on warning --format sarif')
    .action(async (named: string | undefined, flags: CheckFlags) => {
      const { CHECK_FORMATS } = await import('../../tools/check/formats.ts')
      const { checkPolicy } = await import('../../tools/check/check-policy.ts')
      const { readDirectory } = await import('../../tools/check/read-directory.ts')
      const { policyPlace } = await import('./policy-place.ts')
      const usual = settings()
      const policies = policyPlace(named ?? usual.policies, usual)
      const resources = await loadSchemaFiles(flags.schemas ?? usual.schemas)
      const users = flags.directory === undefined ? undefined : await readDirectory(flags.directory, resources)
      const report = await checkPolicy({ policies, resources, users, now: new Date(await timeAt(flags.at, now())) })
      printReport(flags.format, CHECK_FORMATS[flags.format](report))
      if (report.errors > 0 || (flags.failOn === 'warning' && report.warnings > 0)) setExitCode(1)
    })
}
