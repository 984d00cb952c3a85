/** sallyport policy …: examines policy files without a running server; release.ts puts a policy in force. */
import { Option } from 'commander'
import { readConfig } from '../../config.ts'
import { printReport } from '../../present/print.ts'
import type { Resources } from '../../resources/resource.ts'
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
import type { ExplainFlags } from './explain.ts'
import { declareRelease } from './release.ts'

export function policyCommand(
  settings: PolicySettings = () => readConfig(process.env),
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

interface CheckFlags extends FolderFlags {
  readonly directory?: string
  readonly format: 'text' | 'json' | 'sarif'
  readonly failOn: 'error' | 'warning'
  readonly at?: string
}

function declareCheck(policy: CliCommand, settings: PolicySettings, now: () => number): void {
  policy
    .command('check')
    .description('find mistakes in the policy files; each finding has its place and what to do')
    .argument('[directory]', 'policy files (policies)')
    .option(...SCHEMAS)
    .option(
      '--directory <file>',
      'the users that exist: a text file with one id a line, or a database file of the server',
    )
    .formats('text', 'json', 'sarif')
    .addOption(
      new Option('--fail-on <severity>', 'the lowest severity that gives exit code 1')
        .choices(['error', 'warning'])
        .default('error'),
    )
    .option(...AT)
    .note(`The server refuses files with errors. It accepts warnings, but they are probably mistakes.
docs/checks.md lists all errors and warnings.
To suppress a warning, write a comment line above its line: # check-ignore CODE: reason

Exit code: 0 without errors, 1 with errors (with --fail-on warning, also with warnings), 2 when the check could not
run, for example with a broken schema file.`)
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
    .option('--record <file>', 'explain the decision record in this file; - reads standard input')
    .option(
      '--request-id <id>',
      'explain the record of this request in the decision log, with the policy that decided it',
    )
    .option('--exit-code', 'exit with 1 when the request is refused, or when its answer depends on what is not known')
    .option(AT[0], 'decide for this time, like 2027-01-31T18:00:00Z (now; for a record, its own time)')
    .formats()
    .note(`Without --role and --subject, the caller has no credentials. A path with {id} stands for any object.
Without --with, conditions hold as --at and --address tell; the answer is shown for each of the others.`)
    .examples(
      'policy explain --role member GET /api/orders/{id}',
      'policy explain --role member DELETE /api/orders/{id} --relation owner+draft',
      'policy explain --role support DELETE /api/users/{id} --with office+fresh',
      'policy explain --role support --subject sam PATCH /api/orders/{id} --object 0190b2c4-…',
      'policy explain --record - < decision.json',
    )
    .action(async (method: string | undefined, path: string | undefined, flags: ExplainFlags & FormatFlag) => {
      const { EXPLAIN_FORMATS } = await import('../../tools/explain/text/formats.ts')
      const { explainFlags } = await import('./explain.ts')
      const explanation = await explainFlags({ method, path, flags }, settings())
      printReport(flags.format, EXPLAIN_FORMATS[flags.format](explanation))
      if (flags.exitCode && (explanation.answer?.status ?? 400) >= 400) process.exitCode = 1
    })
}

interface MatrixFlags extends FolderFlags {
  readonly role: readonly string[]
  readonly resource: readonly string[]
  readonly with: string
  readonly at?: string
  readonly format: 'table' | 'csv' | 'json' | 'html'
}

function declareMatrix(policy: CliCommand, settings: PolicySettings): void {
  policy
    .command('matrix')
    .description('show who can do what: each caller, method, path and relation')
    .folders()
    .option(
      '--role <name...>',
      'only this caller: a role, anonymous, everyone or user:<id>; a+b is a caller with both roles; repeat for more',
      [],
    )
    .option('--resource <name...>', 'only this resource; repeat for more', [])
    .option(
      '--with <names>',
      'suppose that exactly these conditions of the request hold: office+fresh, or none',
      'none',
    )
    .option(...AT)
    .formats('table', 'csv', 'json', 'html')
    .note(
      'Marks with ? depend on conditions of the request. Rows like draft>placed tell what a write may make of an object.',
    )
    .examples(
      'policy matrix',
      'policy matrix --with office+fresh',
      'policy matrix --role member --role support --format csv',
    )
    .action(async (flags: MatrixFlags) => {
      const { MATRIX_FORMATS } = await import('../../tools/permissions/formats.ts')
      const { readMatrix } = await import('../../tools/permissions/matrix.ts')
      const at = await timeAt(flags.at, Date.now())
      const matrix = await readMatrix({
        ...settings(),
        ...flags,
        roles: flags.role,
        only: flags.resource,
        holding: flags.with,
        now: at,
      })
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
    .description('compare two policies: which requests they decide differently')
    .argument('<old>', 'a directory, or a git revision')
    .argument('<new>', 'a directory, or a git revision')
    .option('--policies <directory>', 'the path of the policy files within a revision (policies)')
    .option('--schemas <directory>', 'schema files for both policies (SCHEMAS, schemas)')
    .option(...AT)
    .formats('text', 'json', 'markdown')
    .addOption(new Option('--fail-on <direction>', 'exit with 1 if there is such a change').choices(DIRECTIONS))
    .note(`OLD and NEW are each a directory or a git revision (main, HEAD~1, a tag, ...).
A revision can name a path from the top of the repository: main:deploy/policies.
Both policies are read with the schemas of the working tree.
A change that may widen or narrow counts as both. A difference that starts when a rule ends (until=) has its time.
Exit code: 0, or 1 for a change that --fail-on names, or 2 when the policies could not be compared.`)
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
    .description('decide the requests of a decision log again under a candidate, and show the differences')
    .argument('<log...>', 'decision log files, oldest first')
    .option('--candidate <dir>', 'policy files of the candidate')
    .option('--policies <directory>', 'policy files to use without --candidate (policies)')
    .option(...SCHEMAS)
    .option(...SINCE, moment)
    .option(...UNTIL, moment)
    .option('--examples <number>', 'how many request ids to show for each difference', wholeNumber(0, 9999), 3)
    .formats()
    .note(`Without --candidate, the command decides the requests under the present policy files, and shows whether
they still give the answers of the log. It also says how many requests it can't decide again, and why.
Exit code: 0 without differences, 1 with differences, 2 when it could not run or could decide no request again.`)
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
