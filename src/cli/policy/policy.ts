/** sallyport policy …: examines policy files without a running server; release.ts puts a policy in force. */
import { environment, setExitCode } from '../../base/command-process.ts'
import { readConfig } from '../../config/config.ts'
import { printReport } from '../../present/print.ts'
import {
  AT,
  CliCommand,
  type FolderFlags,
  type FormatFlag,
  gather,
  moment,
  type PolicySettings,
  SCHEMAS,
  SINCE,
  type TextOrJson,
  UNTIL,
  wholeNumber,
} from '../options.ts'
import { declareCheck } from './check.ts'
import { declareDiff } from './diff.ts'
import type { ExplainFlags } from './explain.ts'
import { declareMatrix } from './matrix.ts'
import { declareRelease } from './release.ts'

export function policyCommand(
  settings: PolicySettings = () => readConfig(environment()),
  now: () => number = Date.now,
): CliCommand {
  const policy = new CliCommand('policy').description('check, explain, compare and release policy files')
  declareCheck(policy, settings, now)
  declareExplain(policy, settings)
  declareMatrix(policy, settings)
  declareDiff(policy, settings)
  declareReplay(policy, settings)
  declareRelease(policy, settings)
  return policy
}

function declareExplain(policy: CliCommand, settings: PolicySettings): void {
  policy
    .command('explain')
    .description('explain whether a request is allowed: which lines decide it, and what is missing if it is refused')
    .argument('[method]', 'GET, POST, …')
    .argument('[path]', 'the path of a request, or of a route: /api/orders/{id}')
    .folders()
    .option('--role <name>', 'a role that the caller has; repeat for more', gather, [])
    .option('--subject <id>', 'the id of the caller')
    .option('--object <id>', 'the stored object that the request is about; the command only reads the database')
    .option('--relation <names>', 'suppose that exactly these relations hold: owner+draft, or none')
    .option('--with <names>', 'suppose that exactly these conditions of the request hold: office+fresh, or none')
    .option('--address <address>', 'the address of the client, for conditions that look at it')
    .option('--becomes <change>', 'suppose that the write changes the state of the object: draft>placed')
    .option('--record <file>', 'explain the decision record in this file; - reads standard input')
    .option(
      '--request-id <id>',
      'explain the record of this request in the decision log, with the policy that decided it',
    )
    .option('--exit-code', 'exit with 1 when the request is refused, or when its answer depends on what is not known')
    .option(AT[0], 'decide for this time, like 2027-01-31T18:00:00Z (now; for a record, its own time)')
    .formats()
    .note(`Without --role and --subject, the caller has no credentials. A path with {id} stands for any object.
Without --with, conditions hold as --at and --address tell; the answer is shown for each of the others.
Without --becomes, the answer is about the object before the write. In a shell, quote the change: 'draft>placed'.`)
    .examples(
      'policy explain --role member GET /api/orders/{id}',
      'policy explain --role member DELETE /api/orders/{id} --relation owner+draft',
      'policy explain --role support DELETE /api/users/{id} --with office+fresh',
      "policy explain --role support PATCH /api/orders/{id} --becomes 'placed>shipped'",
      'policy explain --role support --subject sam PATCH /api/orders/{id} --object 0190b2c4-…',
      'policy explain --record - < decision.json',
    )
    .action(async (method: string | undefined, path: string | undefined, flags: ExplainFlags & FormatFlag) => {
      const { EXPLAIN_FORMATS } = await import('../../tools/explain/text/formats.ts')
      const { explainFlags } = await import('./explain.ts')
      const explanation = await explainFlags({ method, path, flags }, settings())
      printReport(flags.format, EXPLAIN_FORMATS[flags.format](explanation))
      if (flags.exitCode && (explanation.answer?.status ?? 400) >= 400) setExitCode(1)
    })
}

interface ReplayFlags extends FolderFlags {
  readonly candidate?: string
  readonly baseline?: string
  readonly format: TextOrJson
  readonly since?: number
  readonly until?: number
  readonly examples: number
}

function declareReplay(policy: CliCommand, settings: PolicySettings): void {
  policy
    .command('replay')
    .description('decide the requests of a decision log again under a candidate, and show the differences')
    .argument('<log...>', 'decision log files, oldest first')
    .option('--candidate <dir>', 'policy files of the candidate, or database:<version>')
    .option('--baseline <dir>', 'with --candidate, compare it with this policy (POLICIES, policies)')
    .option('--policies <directory>', 'the present policy files, or database: (POLICIES, policies)')
    .option(...SCHEMAS)
    .option(...SINCE, moment)
    .option(...UNTIL, moment)
    .option('--examples <number>', 'how many request ids to show for each difference', wholeNumber(0, 9999), 3)
    .formats()
    .note(`The candidate is compared with the present policy, or with --baseline, so earlier edits are no differences.
Without --candidate and --baseline, the command decides the requests under the present policy files, and shows whether
they still give the answers of the log. It also says how many requests it can't decide again, and why.
Exit code: 0 without differences, 1 with differences, 2 when it could not run or could decide no request again.`)
    .examples('policy replay data/decisions.log --candidate policies-new')
    .action(async (files: readonly string[], flags: ReplayFlags) => {
      const { REPLAY_FORMATS } = await import('../../tools/replay/formats.ts')
      const { refuseNothingDecided, replayWithProgress } = await import('./replay.ts')
      const { policyPlace } = await import('./policy-place.ts')
      const usual = settings()
      const present = flags.policies ?? usual.policies
      const baseline = flags.baseline ?? (flags.candidate === undefined ? undefined : present)
      const report = await replayWithProgress(files, {
        ...usual,
        ...flags,
        candidate: policyPlace(flags.candidate ?? present, usual),
        baseline: baseline === undefined ? undefined : policyPlace(baseline, usual),
      })
      printReport(flags.format, REPLAY_FORMATS[flags.format](report))
      if (report.groups.length > 0) setExitCode(1)
      refuseNothingDecided(report)
    })
}
