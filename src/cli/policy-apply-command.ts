/** sallyport policy apply: puts another directory's policy in force. */
import { Command, Option } from 'commander'
import { carryOut } from '../release/carry-out.ts'
import { planApply } from '../release/plan.ts'
import { loadResources } from '../resources/load-resources.ts'
import type { ReviewFolders } from './policy-command.ts'

interface Options {
  readonly policies?: string
  readonly schemas?: string
  readonly reason?: string
  readonly yes?: boolean
  readonly dryRun?: boolean
  readonly format: 'text' | 'json'
}

const HELP = `
The files of DIR are checked and compared with those in force; then they take over at one moment, and a running server
decides by them within a second. Files edited in place before are kept as a version of their own. Exit code: 0, or 1
when the files have errors or you say no, or 2 when it could not run.

  sallyport policy apply policies-new --reason "accountants see accounts"
`

export function policyApplyCommand(folders: ReviewFolders): Command {
  return new Command('apply')
    .description('check another directory of policy files, show what it changes, and put it in force')
    .argument('<dir>', 'policy files')
    .option('--policies <dir>', 'the policy files in force (POLICIES, policies)')
    .option('--schemas <dir>', 'schema files (SCHEMAS, schemas)')
    .option('--reason <text>', 'why, for the history')
    .option('--yes', 'do not ask')
    .option('--dry-run', 'look only')
    .addOption(new Option('--format <format>', 'how to tell it').choices(['text', 'json']).default('text'))
    .addHelpText('after', HELP)
    .action(async (candidate: string, options: Options) => {
      const { policies, schemas } = { ...folders(), ...options }
      const now = new Date()
      const plan = await planApply(candidate, { directory: policies, resources: await loadResources(schemas), now })
      const { reason, yes = false, dryRun = false, format } = options
      process.exitCode = await carryOut(plan, { kind: 'applied', of: undefined, reason, now, yes, dryRun, format })
    })
}
