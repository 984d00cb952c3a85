/** sallyport policy apply: puts another directory's policy in force. */
import { Command } from 'commander'
import { carryOut } from '../tools/release/carry-out.ts'
import { planApply } from '../tools/release/plan.ts'
import type { ReleaseFolders } from './policy-command.ts'
import { type ReleaseOptions, readRelease, withReleaseOptions } from './release-options.ts'

const HELP = `
The files of DIR are checked and compared with those in force; then they take over at one moment, and a running server
decides by them within a second. Files edited in place before are kept as a version of their own. Exit code: 0, or 1
when the files have errors or you say no, or 2 when it could not run.

  sallyport policy apply policies-new --reason "accountants see accounts"
`

export function policyApplyCommand(folders: ReleaseFolders): Command {
  const command = new Command('apply')
    .description('check another directory of policy files, show what it changes, and put it in force')
    .argument('<dir>', 'policy files')
    .addHelpText('after', HELP)
  return withReleaseOptions(command).action(async (candidate: string, options: ReleaseOptions) => {
    const { over, how } = await readRelease(folders, options)
    process.exitCode = await carryOut(await planApply(candidate, over), { ...how, kind: 'applied', of: undefined })
  })
}
