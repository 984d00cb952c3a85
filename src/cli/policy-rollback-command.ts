/** sallyport policy rollback: puts an earlier version in force again. */
import { Command, Option } from 'commander'
import { carryOut } from '../release/carry-out.ts'
import { digestOf, readContent } from '../release/content.ts'
import { planReturn } from '../release/plan.ts'
import { returnTarget } from '../release/return-target.ts'
import { isIntact, readHistory, readVersion } from '../release/version.ts'
import { loadResources } from '../resources/load-resources.ts'
import { ReviewError } from '../review/load-policy.ts'
import type { ReviewFolders } from './policy-command.ts'

interface Options {
  readonly to?: string
  readonly policies?: string
  readonly schemas?: string
  readonly reason?: string
  readonly yes?: boolean
  readonly dryRun?: boolean
  readonly format: 'text' | 'json'
}

const HELP = `
Without --to it goes to the version before; once more goes further back. blocked.txt stays as it is. Exit code: as apply.
`

export function policyRollbackCommand(folders: ReviewFolders): Command {
  return new Command('rollback')
    .description('put an earlier version in force again')
    .option('--to <version>', 'its number or revision, as policy history tells them')
    .option('--policies <dir>', 'the policy files in force (POLICIES, policies)')
    .option('--schemas <dir>', 'schema files (SCHEMAS, schemas)')
    .option('--reason <text>', 'why, for the history')
    .option('--yes', 'do not ask')
    .option('--dry-run', 'look only')
    .addOption(new Option('--format <format>', 'how to tell it').choices(['text', 'json']).default('text'))
    .addHelpText('after', HELP)
    .action(async (options: Options) => {
      const { policies, schemas } = { ...folders(), ...options }
      const version = returnTarget(await readHistory(policies), digestOf(await readContent(policies)), options.to)
      if (!(await isIntact(policies, version))) {
        throw new ReviewError(
          `the files of version ${version.number} were edited since; choose another one of policy history`,
        )
      }
      const now = new Date()
      const content = await readVersion(policies, version)
      const resources = await loadResources(schemas)
      const plan = await planReturn(version, content, { directory: policies, resources, now })
      const { reason, yes = false, dryRun = false, format } = options
      const how = { kind: 'rolled-back', of: version.number, reason, now, yes, dryRun, format } as const
      process.exitCode = await carryOut(plan, how)
    })
}
