/** sallyport policy rollback: puts an earlier version in force again. */
import { Command } from 'commander'
import { ReviewError } from '../tools/load-policy.ts'
import { carryOut } from '../tools/release/carry-out.ts'
import { digestOf, readContent } from '../tools/release/content.ts'
import { isHeld } from '../tools/release/exchange.ts'
import { planReturn } from '../tools/release/plan.ts'
import { returnTarget } from '../tools/release/return-target.ts'
import { isIntact, readHistory, readVersion } from '../tools/release/version.ts'
import type { ReleaseFolders } from './policy-command.ts'
import { type ReleaseOptions, readRelease, withReleaseOptions } from './release-options.ts'

interface Options extends ReleaseOptions {
  readonly to?: string
}

const HELP = `
Without --to it goes to the version before; once more goes further back. blocked.txt stays as it is. Exit code: as apply.
`

export function policyRollbackCommand(folders: ReleaseFolders): Command {
  const command = new Command('rollback')
    .description('put an earlier version in force again')
    .option('--to <version>', 'its number or revision, as policy history tells them')
    .addHelpText('after', HELP)
  return withReleaseOptions(command).action(async (options: Options) => {
    const { over, how } = await readRelease(folders, options)
    const { home } = over
    // What an `apply` began that did not end is what to go back from; the version before it rules already.
    const present = (await isHeld(home.directory)) ? undefined : digestOf(await readContent(home.directory))
    const version = returnTarget(await readHistory(home), present, options.to)
    if (!(await isIntact(home, version))) {
      const which = `the files of version ${version.number}`
      throw new ReviewError(`${which} were edited since; choose another one of policy history`)
    }
    const plan = await planReturn(version, await readVersion(home, version), over)
    process.exitCode = await carryOut(plan, { ...how, kind: 'rolled-back', of: version.number })
  })
}
