/** sallyport policy check */
import { stat } from 'node:fs/promises'
import { Command, Option } from 'commander'
import { print } from '../present/print.ts'
import { loadResources } from '../resources/load/load-resources.ts'
import { AT, timeOf } from '../tools/at.ts'
import { type CheckReport, checkPolicy } from '../tools/check/check-policy.ts'
import { formatJson } from '../tools/check/format-json.ts'
import { formatSarif } from '../tools/check/format-sarif.ts'
import { formatText } from '../tools/check/format-text.ts'
import { readDirectory } from '../tools/check/read-directory.ts'
import { ReviewError } from '../tools/load-policy.ts'
import type { ReviewFolders } from './policy-command.ts'

const FORMATS = { text: formatText, json: formatJson, sarif: formatSarif } as const

interface Options {
  readonly schemas?: string
  readonly directory?: string
  readonly format: keyof typeof FORMATS
  readonly failOn: 'error' | 'warning'
  readonly at?: string
}

const HELP = `
Errors are what the server would refuse; warnings are what it takes although it is probably not meant. All are listed in
docs/checks.md. A comment line above the line that a warning is about takes it away: # check-ignore CODE: reason

Exit code: 0 when nothing is wrong (warnings alone are not, unless --fail-on warning), 1 with findings, 2 when the
check could not run, as with a broken schema file.`

/** Prints the findings; sets the exit code 1 for those that fail. Throws FileError and ReviewError. */
export function policyCheckCommand(folders: ReviewFolders, now: () => Date = () => new Date()): Command {
  return new Command('check')
    .description('find mistakes in the policy files: all at once, each with its place and what to do')
    .argument('[directory]', 'policy files (POLICIES, policies)')
    .option('--schemas <directory>', 'schema files (SCHEMAS, schemas)')
    .option('--directory <file>', 'who exists: user ids, one a line, or a SQLite database file of the server')
    .addOption(new Option('--format <format>').choices(Object.keys(FORMATS)).default('text'))
    .addOption(
      new Option('--fail-on <severity>', 'what exit code 1 is for').choices(['error', 'warning']).default('error'),
    )
    .option(...AT)
    .addHelpText('after', HELP)
    .action(async (directory: string | undefined, options: Options) => {
      const usual = folders()
      const policies = directory ?? usual.policies
      await refuseNoFolder(policies)
      const resources = await loadResources(options.schemas ?? usual.schemas)
      const users = options.directory === undefined ? undefined : await readDirectory(options.directory, resources)
      const time = new Date(timeOf(options.at, now().getTime()))
      const report = await checkPolicy({ policies, resources, users, now: time })
      print(FORMATS[options.format](report))
      if (fails(report, options.failOn)) process.exitCode = 1
    })
}

function fails({ errors, warnings }: CheckReport, failOn: Options['failOn']): boolean {
  return errors > 0 || (failOn === 'warning' && warnings > 0)
}

/** A folder that isn't there is no policy with seven files missing. */
async function refuseNoFolder(folder: string): Promise<void> {
  const found = await stat(folder).catch(() => undefined)
  if (!found?.isDirectory()) throw new ReviewError(`\`${folder}\` is no folder of policy files`)
}
