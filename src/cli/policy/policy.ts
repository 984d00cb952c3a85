/** sallyport policy …: examines policy files without a running server; release.ts changes which policy is in force. */
import { Option } from 'commander'
import { readConfig } from '../../config.ts'
import { printReport } from '../../present/print.ts'
import type { Resources } from '../../resources/resource.ts'
import {
  AT,
  CliCommand,
  type FolderFlags,
  gather,
  moment,
  POLICIES,
  type PolicySettings,
  SCHEMAS,
  SINCE,
  type TextOrJson,
  UNTIL,
  wholeNumber,
} from '../options.ts'
import type { ExplainFlags } from './explain.ts'
import { declareRelease } from './release.ts'

export function policyCommand(
  settings: PolicySettings = () => readConfig(process.env),
  now: () => number = Date.now,
): CliCommand {
  const policy = new CliCommand('policy').description('know what a policy says before it rules')
  declareCheck(policy, settings, now)
  declareExplain(policy, settings)
  declareMatrix(policy, settings)
  declareDiff(policy, settings)
  declareReplay(policy, settings)
  declareRelease(policy, settings)
  return policy
}

interface CheckFlags extends FolderFlags {
  readonly directory?: string
  readonly format: 'text' | 'json' | 'sarif'
  readonly failOn: 'error' | 'warning'
  readonly at?: string
}

function declareCheck(policy: CliCommand, settings: PolicySettings, now: () => number): void {
  policy
    .command('check')
    .description('find mistakes in the policy files: all at once, each with its place and what to do')
    .argument('[directory]', 'policy files (POLICIES, policies)')
    .option(...SCHEMAS)
    .option('--directory <file>', 'who exists: user ids, one a line, or a SQLite database file of the server')
    .formats('text', 'json', 'sarif')
    .addOption(
      new Option('--fail-on <severity>', 'what exit code 1 is for').choices(['error', 'warning']).default('error'),
    )
    .option(...AT)
    .note(`Errors are what the server would refuse; warnings are what it takes although it is probably not meant. All are listed in
docs/checks.md. A comment line above the line of a warning suppresses it: # check-ignore CODE: reason

Exit code: 0 when nothing is wrong (warnings alone are not, unless --fail-on warning), 1 with findings, 2 when the
check could not run, as with a broken schema file.`)
    .examples('policy check', 'policy check policies-new --fail-on warning --format sarif')
    .action(async (directory: string | undefined, flags: CheckFlags) => {
      const { CHECK_FORMATS } = await import('../../tools/check/formats.ts')
      const { checkPolicy } = await import('../../tools/check/check-policy.ts')
      const { readDirectory } = await import('../../tools/check/read-directory.ts')
      const { refuseNoDirectory } = await import('../../tools/load-policy.ts')
      const usual = settings()
      const policies = directory ?? usual.policies
      await refuseNoDirectory(policies)
      const resources = await readSchemas(flags.schemas ?? usual.schemas)
      const users = flags.directory === undefined ? undefined : await readDirectory(flags.directory, resources)
      const report = await checkPolicy({ policies, resources, users, now: new Date(await timeAt(flags.at, now())) })
      printReport(flags.format, CHECK_FORMATS[flags.format](report))
      if (report.errors > 0 || (flags.failOn === 'warning' && report.warnings > 0)) process.exitCode = 1
    })
}

function declareExplain(policy: CliCommand, settings: PolicySettings): void {
  policy
    .command('explain')
    .description('is this request allowed, which lines decide it, and what is missing if not')
    .argument('[method]', 'GET, POST, …')
    .argument('[path]', 'as a client asks for it, or as a schema writes it: /api/orders/{id}')
    .option(...POLICIES)
    .option(...SCHEMAS)
    .option('--role <name>', 'a role that the caller has; repeat for more', gather, [])
    .option('--subject <id>', 'who the caller is')
    .option('--object <id>', 'the stored object that it is about; read from the database, which is not changed')
    .option('--relation <names>', 'exactly these relations hold: owner+draft, or none')
    .option('--record <file>', "explain a decision record of the server's log; - reads from standard input")
    .option('--request-id <id>', 'explain the record of this request, in the log of the server, by the policy of then')
    .option('--exit-code', 'exit with 0 when it is allowed, 1 when it is refused or depends on the object')
    .option(AT[0], `${AT[1]}; for a record, the time when it was made`)
    .formats()
    .note('Without --role and --subject the caller has no credentials. A path with {id} stands for any object.')
    .examples(
      'policy explain --role member GET /api/orders/{id}',
      'policy explain --role member DELETE /api/orders/{id} --relation owner+draft',
      'policy explain --role support --subject sam PATCH /api/orders/{id} --object 0190b2c4-…',
      'policy explain --record - < decision.json',
    )
    .action(async (method: string | undefined, path: string | undefined, flags: ExplainFlags & Formatted) => {
      const { EXPLAIN_FORMATS } = await import('../../tools/explain/formats.ts')
      const { explainFlags } = await import('./explain.ts')
      const explanation = await explainFlags({ method, path, flags }, settings())
      printReport(flags.format, EXPLAIN_FORMATS[flags.format](explanation))
      if (flags.exitCode && (explanation.answer?.status ?? 400) >= 400) process.exitCode = 1
    })
}

interface Formatted {
  readonly format: TextOrJson
}

interface MatrixFlags extends FolderFlags {
  readonly role: readonly string[]
  readonly resource: readonly string[]
  readonly at?: string
  readonly format: 'table' | 'csv' | 'json' | 'html'
}

function declareMatrix(policy: CliCommand, settings: PolicySettings): void {
  policy
    .command('matrix')
    .description('who can do what: every caller at every method, path and relation')
    .option(...POLICIES)
    .option(...SCHEMAS)
    .option(
      '--role <name...>',
      'show this caller only: a role, anonymous, everyone or user:<id>; a+b adds a caller who holds both; repeat for more',
      [],
    )
    .option('--resource <name...>', 'show this resource only; repeat for more', [])
    .option(...AT)
    .formats('table', 'csv', 'json', 'html')
    .examples('policy matrix', 'policy matrix --role member --role support --format csv')
    .action(async (flags: MatrixFlags) => {
      const { MATRIX_FORMATS } = await import('../../tools/permissions/formats.ts')
      const { readMatrix } = await import('../../tools/permissions/read-matrix.ts')
      const at = await timeAt(flags.at, Date.now())
      const matrix = await readMatrix({ ...settings(), ...flags, roles: flags.role, only: flags.resource, now: at })
      printReport(flags.format, MATRIX_FORMATS[flags.format](matrix))
    })
}

const DIRECTIONS = ['widening', 'narrowing', 'any'] as const

interface DiffFlags extends FolderFlags {
  readonly at?: string
  readonly format: 'text' | 'json' | 'markdown'
  readonly failOn?: (typeof DIRECTIONS)[number]
}

function declareDiff(policy: CliCommand, settings: PolicySettings): void {
  policy
    .command('diff')
    .description('what two versions of the policy mean differently')
    .argument('<old>', 'a directory, or a git revision')
    .argument('<new>', 'a directory, or a git revision')
    .option('--policies <directory>', 'where a revision has the files, unless its name says so')
    .option('--schemas <directory>', 'the schemas that both are read with')
    .option(...AT)
    .formats('text', 'json', 'markdown')
    .addOption(new Option('--fail-on <direction>', 'exit with 1 for such a change').choices(DIRECTIONS))
    .note(`OLD and NEW are each a directory, or a git revision (main, HEAD~1, a tag, ...), optionally with a path from
the repository's top: main:deploy/policies. Both are read with the same schemas, those of the working tree.
Exit code: 0, or 1 for a change that --fail-on names, or 2 when the two could not be compared.
A change that may go either way counts as widening and as narrowing. Where rules end (until=), a difference
from that moment on has its time.`)
    .examples('policy diff main policies --fail-on widening', 'policy diff HEAD~1 HEAD --format markdown')
    .action(async (before: string, after: string, flags: DiffFlags) => {
      const { DIFF_FORMATS } = await import('../../tools/diff/formats.ts')
      const { readSide } = await import('../../tools/diff/revision.ts')
      const { fails, reportOn } = await import('../../tools/diff/compare-policies.ts')
      const { policies, schemas } = { ...settings(), ...flags }
      const now = await timeAt(flags.at, Date.now())
      const resources = await readSchemas(schemas)
      const [old, young] = [await readSide(before, policies, resources), await readSide(after, policies, resources)]
      const report = reportOn({ before, after }, { before: old, after: young }, { resources, now })
      printReport(flags.format, DIFF_FORMATS[flags.format](report))
      if (flags.failOn && fails(report, flags.failOn)) process.exitCode = 1
    })
}

interface ReplayFlags extends FolderFlags {
  readonly candidate?: string
  readonly format: TextOrJson
  readonly since?: number
  readonly until?: number
  readonly examples: number
}

function declareReplay(policy: CliCommand, settings: PolicySettings): void {
  policy
    .command('replay')
    .description('decide logged requests again under a candidate, and show what differs')
    .argument('<log...>', 'decision logs')
    .option('--candidate <dir>', 'policy files to decide by')
    .option('--policies <directory>', 'policy files when there is no candidate (POLICIES, policies)')
    .option(...SCHEMAS)
    .option(...SINCE, moment)
    .option(...UNTIL, moment)
    .option('--examples <number>', 'request ids shown of each difference', wholeNumber(0, 9999), 3)
    .formats()
    .note(`LOG is a decision log, or several, oldest first. Without --candidate the requests are decided under the policy
files as they are now, which shows whether they still give the answers of the log.
Exit code: 0 when every request that can be decided again would be answered the same, 1 for differences, 2 when it
could not run or none could be decided again. The lines beneath the first say how many could not be decided again, and why.`)
    .examples('policy replay data/decisions.log --candidate policies-new')
    .action(async (files: readonly string[], flags: ReplayFlags) => {
      const { REPLAY_FORMATS } = await import('../../tools/replay/formats.ts')
      const { refuseNothingDecided, replayWithProgress } = await import('./replay.ts')
      const report = await replayWithProgress(files, { ...settings(), ...flags })
      printReport(flags.format, REPLAY_FORMATS[flags.format](report))
      if (report.groups.length > 0) process.exitCode = 1
      refuseNothingDecided(report)
    })
}

async function readSchemas(directory: string): Promise<Resources> {
  return (await import('../../resources/load/load-resources.ts')).loadResources(directory)
}

async function timeAt(at: string | undefined, now: number): Promise<number> {
  return (await import('../../tools/at-option.ts')).timeOf(at, now)
}
