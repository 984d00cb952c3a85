/** sallyport upgrade --check: what a newer version changes for a project. */

import { isAbsolute, join } from 'node:path'
import { environment, setExitCode } from '../../base/command-process.ts'
import { readConfig } from '../../config/config.ts'
import { programHere } from '../../present/invocation.ts'
import { printReport } from '../../present/print.ts'
import { CliCommand, type FolderFlags, type FormatFlag, MIGRATIONS, POLICIES, SCHEMAS } from '../options.ts'

interface UpgradeFlags extends FolderFlags, FormatFlag {
  readonly check?: boolean
  readonly from?: string
  readonly matrices: string
  readonly migrations?: string
}

/** Minutes and megabytes more than a matrix of thousands of rows needs. */
const BOUNDS = { milliseconds: 120_000, bytes: 256 * 1024 * 1024 } as const

export function upgradeCommand(): CliCommand {
  return new CliCommand('upgrade')
    .description('say what this version changes for a project that has an earlier one installed')
    .argument('[directory]', 'the folder of the project', '.')
    .option('--check', 'only look: no file is changed, and nothing is installed')
    .option('--from <directory>', 'the package of the earlier version (node_modules/sallyport of the project)')
    .option(...SCHEMAS)
    .option(...POLICIES)
    .option('--matrices <directory>', 'the folder of the matrices', 'test/matrix')
    .option(...MIGRATIONS)
    .formats()
    .note(`Run it as the newer version, in the folder of the project: npx sallyport@latest upgrade --check
Folders are looked for in the folder of the project. The earlier program runs too: both print the access matrix.
What can't be compared is told as undecided, also where a command of a version takes more than 2 minutes.
Exit code: 0 when there is nothing to do, 1 when there is, or 2 when it could not run.`)
    .examples('upgrade --check', 'upgrade --check my-api --from before/node_modules/sallyport')
    .action(async (folder: string, flags: UpgradeFlags) => {
      if (!flags.check) throw await onlyLooks()
      const { checkUpgrade } = await import('../../tools/project/upgrade/check-upgrade.ts')
      const { UPGRADE_FORMATS } = await import('../../tools/project/upgrade/upgrade-text.ts')
      const usual = readConfig(environment())
      const { policies, schemas, matrices, migrations } = { ...usual, ...flags }
      const within = (path: string) => resolveIn(folder, path)
      const report = await checkUpgrade({
        project: {
          folder,
          policies: within(policies),
          schemas: within(schemas),
          matrices: within(matrices),
          migrations: within(migrations),
          database: { ...usual.database, location: within(usual.database.location) },
        },
        from: flags.from,
        now: new Date(),
        bounds: BOUNDS,
      })
      printReport(flags.format, UPGRADE_FORMATS[flags.format](report))
      if (report.todo) setExitCode(1)
    })
}

async function onlyLooks(): Promise<Error> {
  const { ToolError } = await import('../../tools/load-policy.ts')
  const check = `\`${programHere(environment())} upgrade --check\``
  return new ToolError(`upgrade only looks, and installs nothing: write ${check}, and install what you like with npm`)
}

function resolveIn(folder: string, path: string): string {
  return isAbsolute(path) ? path : join(folder, path)
}
