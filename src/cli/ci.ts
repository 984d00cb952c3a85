/** sallyport ci …: what git and GitHub run for a project. */
import { type Command, Option } from 'commander'
import { environment, setExitCode } from '../base/command-process.ts'
import { withCommands } from '../present/invocation.ts'
import { print, printNote, printReport } from '../present/print.ts'
import { targetSettings } from './matrix/target-options.ts'
import {
  commandGroup,
  FAIL_ON_DIRECTION,
  FAIL_ON_SEVERITY,
  MATRIX_PLACES,
  POLICIES,
  percent,
  SCHEMAS,
  settingsWith,
  withHelp,
} from './options.ts'

export function ciCommand(): Command {
  return commandGroup(
    'ci',
    'check a project where its changes arrive: in a commit, in a pull request',
    declareStaged,
    declareGithub,
  )
}

function declareStaged(ci: Command): void {
  withHelp(ci.command('staged'), {
    about: 'check what the next commit will have of schemas, policies and matrices; for a git hook',
    note: `The command reads what is staged, not the work tree. If no staged change is in these folders, it does nothing.
It compares the matrices with the policy without a server. \`matrix test\` also asks one.
Exit code: 0 without errors, 1 with errors, 2 when the check could not run.`,
    examples: ['ci staged', 'ci staged --policies deploy/policies --schemas deploy/schemas'],
  })
    .addOption(POLICIES)
    .addOption(SCHEMAS)
    .addOption(MATRIX_PLACES)
    .action(async (flags) => {
      const { checkStaged } = await import('../tools/project/ci/check-staged.ts')
      const { CHECK_FORMATS } = await import('../tools/check/check-policy.ts')
      const report = await checkStaged(await settingsWith(flags), new Date())
      if (!report || report.findings.length === 0) return
      printReport('text', CHECK_FORMATS.text(report))
      if (report.errors === 0) return
      printNote(
        'sallyport: the staged files have errors, so there is no commit: fix them, stage them, and commit again\n',
      )
      setExitCode(1)
    })
}

function declareGithub(ci: Command): void {
  withHelp(ci.command('github'), {
    about: 'check, compare with the base, and test the matrices in a GitHub workflow; tell it where people look',
    note: `Every step runs, whatever became of the others, unless the files have errors. The report goes to the log, to
annotations, to the summary of the job, and to one comment of the pull request, which each run replaces. The comment
needs GITHUB_TOKEN, with the permission pull-requests: write; without it, the job doesn't fail.
The policy of the base is read from its commit, so give actions/checkout fetch-depth: 0.
Exit code: 0, 1 when a step failed, 2 when a step could not run.`,
    examples: ['ci github --min 100', 'ci github --diff-fail-on widening --sarif sallyport.sarif'],
  })
    .addOption(POLICIES)
    .addOption(SCHEMAS)
    .addOption(MATRIX_PLACES)
    .option('--base <revision>', 'compare with this commit (the base of the pull request, or the commit before a push)')
    .addOption(
      new Option('--fail-on <severity>', 'the lowest severity of a finding in the files that fails')
        .choices(FAIL_ON_SEVERITY)
        .default('error'),
    )
    .addOption(new Option('--diff-fail-on <direction>', 'fail for such a change').choices(FAIL_ON_DIRECTION))
    .option('--require-approvals', 'fail if reviews of people in approvals.yaml of the base are missing')
    .option('--min <percent>', 'fail if fewer cells have an expectation', percent)
    .option('--min-rules <percent>', 'fail if expectations depend on fewer rules and other parts', percent)
    .option('--no-comment', 'write no comment in the pull request')
    .option('--sarif <file>', 'also write the findings and the wrong cells as SARIF')
    .action(async (flags) => {
      const { judgeChange } = await import('../tools/project/ci/judge-change.ts')
      const { openTargetPool } = await import('../tools/matrix/target/open-targets.ts')
      const { testMatrices } = await import('../tools/matrix/run/trials.ts')
      const settings = { ...targetSettings({}), requireApprovals: false, ...flags, setupRole: 'admin' }
      const test = () =>
        testMatrices(flags.matrices, {
          ...settings,
          filter: { roles: [], resources: [] },
          bail: false,
          openTargets: (suite) => openTargetPool(suite, settings),
          started: () => undefined,
          observe: () => undefined,
        })
      const judged = await judgeChange({ ...settings, now: new Date(), testMatrices: test }, environment())
      print(withCommands(judged.log))
      setExitCode(judged.code)
    })
}
