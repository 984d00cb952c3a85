/** sallyport policy promote: puts the candidate in force that a server compares its requests with. */
import { Command } from 'commander'
import { ReviewError } from '../tools/load-policy.ts'
import { carryOut } from '../tools/release/carry-out.ts'
import { planApply } from '../tools/release/plan.ts'
import type { ReleaseFolders } from './policy-command.ts'
import { type ReleaseOptions, readRelease, withReleaseOptions } from './release-options.ts'

interface Options extends ReleaseOptions {
  readonly candidate?: string
}

/** `candidateOf` names the directory of POLICY_CANDIDATE. */
export function policyPromoteCommand(folders: ReleaseFolders, candidateOf: () => string | undefined): Command {
  const command = new Command('promote')
    .description('as apply, for the candidate that the server compares with (POLICY_CANDIDATE)')
    .option('--candidate <dir>', 'policy files (POLICY_CANDIDATE)')
  return withReleaseOptions(command).action(async (options: Options) => {
    const candidate = options.candidate ?? candidateOf()
    if (candidate === undefined) {
      throw new ReviewError('there is no candidate: set POLICY_CANDIDATE, or say --candidate DIR')
    }
    const { over, how } = await readRelease(folders, options)
    process.exitCode = await carryOut(await planApply(candidate, over), { ...how, kind: 'applied', of: undefined })
  })
}
