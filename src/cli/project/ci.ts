/** sallyport ci …: what git and GitHub run for a project. */

import { Option } from 'commander'
import { environment, setExitCode } from '../../base/command-process.ts'
import { readConfig } from '../../config/config.ts'
import { withCommands } from '../../present/invocation.ts'
import { print, printReport, tell } from '../../present/print.ts'
import { targetSettings } from '../matrix/target-options.ts'
import { CliCommand, type FolderFlags, percent } from '../options.ts'

const MATRICES: readonly [string, string, string[]] = [
  '--matrices <path...>',
  'folders or files of matrices and cases',
  ['test/matrix'],
]

const DIRECTIONS = ['widening', 'narrowing', 'any'] as const

interface StagedFlags extends FolderFlags {
  readonly matrices: readonly string[]
}

export function ciCommand(): CliCommand {
  const ci = new CliCommand('ci').description(
    'check a project where its changes arrive: in a commit, in a pull request',
  )
  declareStaged(ci)
  declareGithub(ci)
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
      const report = await checkStaged({ ...readConfig(environment()), ...flags }, new Date())
      if (!report || report.findings.length === 0) return
      printReport('text', CHECK_FORMATS.text(report))
      if (report.errors === 0) return
      tell('sallyport: the staged files have errors, so there is no commit: mend them, stage them, and commit again\n')
      setExitCode(1)
    })
}

interface GithubFlags extends FolderFlags {
  readonly matrices: readonly string[]
  readonly base?: string
  readonly failOn: 'error' | 'warning'
  readonly diffFailOn?: (typeof DIRECTIONS)[number]
  readonly min?: number
  readonly minRules?: number
  readonly comment: boolean
  readonly sarif?: string
}

function declareGithub(ci: CliCommand): void {
  ci.command('github')
    .description('check, compare with the base, and test the matrices in a GitHub workflow; tell it where people look')
    .folders()
    .option(...MATRICES)
    .option('--base <revision>', 'compare with this commit (the base of the pull request, or the commit before a push)')
    .addOption(
      new Option('--fail-on <severity>', 'the lowest severity of a finding in the files that fails')
        .choices(['error', 'warning'])
        .default('error'),
    )
    .addOption(new Option('--diff-fail-on <direction>', 'fail for such a change').choices(DIRECTIONS))
    .option('--min <percent>', 'fail if fewer cells have an expectation', percent)
    .option('--min-rules <percent>', 'fail if expectations depend on fewer rules and other parts', percent)
    .option('--no-comment', 'write no comment in the pull request')
    .option('--sarif <file>', 'also write the findings and the wrong cells as SARIF')
    .note(`Every step runs, whatever became of the others, unless the files have errors. The report goes to the log, to
annotations, to the summary of the job, and to one comment of the pull request, which each run replaces. The comment
needs GITHUB_TOKEN, with the permission pull-requests: write; without it, the job doesn't fail.
The policy of the base is read from its commit, so give actions/checkout fetch-depth: 0.
Exit code: 0, 1 when a step failed, 2 when a step could not run.`)
    .examples('ci github --min 100', 'ci github --diff-fail-on widening --sarif sallyport.sarif')
    .action(async (flags: GithubFlags) => {
      const { judgeChange } = await import('../../tools/project/ci/judge-change.ts')
      const { openTargetPool } = await import('../../tools/matrix/target/open-targets.ts')
      const { testMatrices } = await import('../../tools/matrix/run/test-matrices.ts')
      const settings = { ...targetSettings({}), setupRole: 'admin', ...folderFlags(flags) }
      const test = () =>
        testMatrices(flags.matrices, {
          ...settings,
          filter: { roles: [], resources: [] },
          bail: false,
          openTargets: (suite) => openTargetPool(suite, settings),
          started: () => undefined,
          observe: () => undefined,
        })
      const judged = await judgeChange({ ...flags, ...settings, now: new Date(), testMatrices: test }, environment())
      print(withCommands(judged.log))
      setExitCode(judged.code)
    })
}

function folderFlags({ policies, schemas }: FolderFlags): FolderFlags {
  return { ...(policies === undefined ? {} : { policies }), ...(schemas === undefined ? {} : { schemas }) }
}
