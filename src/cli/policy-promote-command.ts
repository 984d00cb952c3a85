/** sallyport policy promote: puts the candidate in force that a server compares its requests with. */
import { Command, Option } from 'commander'
import { carryOut } from '../release/carry-out.ts'
import { planApply } from '../release/plan.ts'
import { loadResources } from '../resources/load-resources.ts'
import { ReviewError } from '../review/load-policy.ts'
import type { ReviewFolders } from './policy-command.ts'

interface Options {
  readonly candidate?: string
  readonly policies?: string
  readonly schemas?: string
  readonly reason?: string
  readonly yes?: boolean
  readonly dryRun?: boolean
  readonly format: 'text' | 'json'
}

/** `candidateOf` names the directory of POLICY_CANDIDATE. */
export function policyPromoteCommand(folders: ReviewFolders, candidateOf: () => string | undefined): Command {
  return new Command('promote')
    .description('as apply, for the candidate that the server compares with (POLICY_CANDIDATE)')
    .option('--candidate <dir>', 'policy files (POLICY_CANDIDATE)')
    .option('--policies <dir>', 'the policy files in force (POLICIES, policies)')
    .option('--schemas <dir>', 'schema files (SCHEMAS, schemas)')
    .option('--reason <text>', 'why, for the history')
    .option('--yes', 'do not ask')
    .option('--dry-run', 'look only')
    .addOption(new Option('--format <format>', 'how to tell it').choices(['text', 'json']).default('text'))
    .action(async (options: Options) => {
      const { policies, schemas } = { ...folders(), ...options }
      const candidate = options.candidate ?? candidateOf()
      if (candidate === undefined)
        throw new ReviewError('there is no candidate: set POLICY_CANDIDATE, or say --candidate DIR')
      const now = new Date()
      const plan = await planApply(candidate, { directory: policies, resources: await loadResources(schemas), now })
      const { reason, yes = false, dryRun = false, format } = options
      process.exitCode = await carryOut(plan, { kind: 'applied', of: undefined, reason, now, yes, dryRun, format })
    })
}
