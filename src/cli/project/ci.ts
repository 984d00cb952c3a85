/** sallyport ci …: what git and GitHub run for a project. */
import { readConfig } from '../../config/config.ts'
import { printReport, tell } from '../../present/print.ts'
import { CliCommand, type FolderFlags } from '../options.ts'

const MATRICES: readonly [string, string, string[]] = [
  '--matrices <path...>',
  'folders or files of matrices and cases',
  ['test/matrix'],
]

interface StagedFlags extends FolderFlags {
  readonly matrices: readonly string[]
}

export function ciCommand(): CliCommand {
  const ci = new CliCommand('ci').description(
    'check a project where its changes arrive: in a commit, in a pull request',
  )
  declareStaged(ci)
  return ci
}

function declareStaged(ci: CliCommand): void {
  ci.command('staged')
    .description('check what the next commit will have of schemas, policies and matrices; for a git hook')
    .folders()
    .option(...MATRICES)
    .note(`The command reads what is staged, not the work tree. If no staged change is in these folders, it does nothing.
It compares the matrices with the policy without a server. \`matrix test\` also asks one.
Exit code: 0 without errors, 1 with errors, 2 when the check could not run.`)
    .examples('ci staged', 'ci staged --policies deploy/policies --schemas deploy/schemas')
    .action(async (flags: StagedFlags) => {
      const { checkStaged } = await import('../../tools/project/ci/check-staged.ts')
      const { CHECK_FORMATS } = await import('../../tools/check/formats.ts')
      const report = await checkStaged({ ...readConfig(process.env), ...flags }, new Date())
      if (!report || report.findings.length === 0) return
      printReport('text', CHECK_FORMATS.text(report))
      if (report.errors === 0) return
      tell('sallyport: the staged files have errors, so there is no commit: mend them, stage them, and commit again\n')
      process.exitCode = 1
    })
}
