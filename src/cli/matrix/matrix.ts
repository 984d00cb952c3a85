/** sallyport matrix …: tests, completes and measures expectations of how the server answers each caller. */
import { InvalidArgumentError, Option } from 'commander'
import { readConfig } from '../../config.ts'
import { printReport, printResult, tell } from '../../present/print.ts'
import { OPERATORS, type Operator } from '../../tools/matrix/mutate/mutants.ts'
import type { PredictedSuite } from '../../tools/matrix/predict/suite.ts'
import type { StartTrialServer } from '../../tools/matrix/target/trial-target.ts'
import { CliCommand, type FolderFlags, type FormatFlag, percent, type TextOrJson, wholeNumber } from '../options.ts'
import { interrupted, withProgress } from '../progress.ts'
import type { NewMatrix } from './init.ts'

const PATHS = ['[paths...]', 'matrices', ['test/matrix']] as const
const RESOURCE: readonly [string, string, string[]] = [
  '--resource <name...>',
  'only this resource; repeat for more',
  [],
]

export function matrixCommand(): CliCommand {
  const matrix = new CliCommand('matrix').description(
    'test, write and measure expectations of how each caller is answered',
  )
  declareTest(matrix)
  declareInit(matrix)
  declareCoverage(matrix)
  declareMutate(matrix)
  declareAttack(matrix)
  return matrix
}

const startServer: StartTrialServer = async (folders) =>
  (await import('../../server/trial-server.ts')).startTrialServer(folders)

function targetSettings() {
  const { policies, schemas, dataDirectory, tokens } = readConfig(process.env)
  return { policies, schemas, data: dataDirectory, issuer: tokens.issuer, audience: tokens.audience }
}

/** Where requests are sent. */
interface TargetFlags extends FolderFlags {
  readonly url?: string
  readonly tokens?: string
  readonly key?: string
  readonly data?: string
  readonly issuer?: string
  readonly audience?: string
  readonly setupRole: string
}

/** Options about a deployment, which a run in this process would ignore. */
const WITH_URL = ['tokens', 'key', 'data', 'issuer', 'audience', 'setupRole']

/** For a command that sends requests to a server: one in this process, or a deployment. */
function withTargetOptions(command: CliCommand): CliCommand {
  return command
    .hook('preAction', () => refuseWithoutUrl(command))
    .folders()
    .option('--url <address>', 'ask this server, instead of one in this process')
    .option('--tokens <file>', 'with --url: a token and its subject for each column (YAML or JSON)')
    .option('--key <file>', 'with --url: sign tokens with this private key (JWK or PEM)')
    .option('--data <directory>', "with --url: sign tokens with this server's own key (DATA_DIR, data)")
    .option('--issuer <name>', 'with --url: the issuer of tokens (JWT_ISSUER, sallyport)')
    .option('--audience <name>', 'with --url: the audience of tokens (JWT_AUDIENCE, sallyport)')
    .option('--setup-role <role>', 'with --url: who makes the objects of cells', 'admin')
}

/** Otherwise the user would believe that a deployment was tested. */
function refuseWithoutUrl(command: CliCommand): void {
  if (command.getOptionValue('url') !== undefined) return
  const given = command.options.find(
    (option) =>
      WITH_URL.includes(option.attributeName()) && command.getOptionValueSource(option.attributeName()) === 'cli',
  )
  if (given) command.error(`error: ${given.long} needs --url, the server to ask; without it this process is asked`)
}

const REPORT_FORMATS = ['text', 'junit', 'json', 'html'] as const

type ReportFormat = (typeof REPORT_FORMATS)[number]

interface TestFlags extends TargetFlags {
  readonly only?: RegExp
  readonly role: readonly string[]
  readonly resource: readonly string[]
  readonly bail: boolean
  readonly parallel?: number
  readonly report: readonly { readonly format: ReportFormat; readonly file: string }[]
  readonly format: TextOrJson
}

function declareTest(matrix: CliCommand): void {
  withTargetOptions(matrix.command('test'))
    .description('ask what every cell states, and show which answers differ')
    .argument(...PATHS)
    .option('--only <pattern>', 'only cells whose title, as the report shows it, fits this regular expression', pattern)
    .option('--role <name...>', 'only columns that hold this role, or are written so; repeat for more', [])
    .option(...RESOURCE)
    .option('--bail', 'stop at the first that is not as expected', false)
    .option('--parallel <number>', 'how many cells at once', wholeNumber(1, 999))
    .option('--report <format=file>', 'also write a report: text, junit, json or html; repeat for more', report, [])
    .formats()
    .note(`PATHS are folders or files of matrices (*.csv) and cases (*.yaml). docs/testing-policies.md says how to write them.
Exit code: 0 when every cell is as expected, 1 when not, 2 when it could not run.`)
    .examples(
      'matrix test',
      'matrix test test/matrix/orders.csv --role member --report html=matrix.html',
      "matrix test --only 'DELETE .* as auditor'",
      'matrix test --url http://127.0.0.1:3000',
      'matrix test --url https://api.example.com --tokens tokens.yaml --setup-role admin',
    )
    .action(async (paths: readonly string[], flags: TestFlags) => {
      const { openTargetPool } = await import('../../tools/matrix/target/open-targets.ts')
      const { testMatrices } = await import('../../tools/matrix/run/test-matrices.ts')
      const { REPORTS, writeReports } = await import('../../tools/matrix/report/reports.ts')
      const { isGreen } = await import('../../tools/matrix/run/result.ts')
      const options = { ...targetSettings(), ...flags }
      const run = await withProgress('testing {bar} {value} of {total}, {red} wrong or not tried', (bar) => {
        let red = 0
        return testMatrices(paths, {
          ...options,
          filter: { roles: flags.role, resources: flags.resource, ...(flags.only ? { only: flags.only } : {}) },
          signal: interrupted(),
          openTargets: (suite) => openTargetPool(suite, options, startServer),
          started: (total) => bar.start(total, 0, { red }),
          observe: ({ outcome }) => {
            if (outcome !== 'passed') red++
            bar.increment({ red })
          },
        })
      })
      // Printed first, so that the result isn't lost if the report can't be written.
      printReport(flags.format, REPORTS[flags.format](run))
      await writeReports(flags.report, run)
      if (!isGreen(run)) process.exitCode = 1
    })
}

type InitFlags = FormatFlag & FolderFlags & Omit<NewMatrix, keyof FolderFlags>

function declareInit(matrix: CliCommand): void {
  matrix
    .command('init')
    .description('write the complete matrix of the policy as it is, for review')
    .option('--out <directory>', 'where to write', 'test/matrix')
    .folders()
    .option('--missing', 'only cells that no matrix of --out states', false)
    .option('--role <name...>', 'these columns: a role, member+auditor, anonymous, user:<id>; repeat for more', [])
    .option('--force', 'replace files that are there', false)
    .formats()
    .note(`Writes one file a resource: every method, path and way to relate to the object, with the answer that the policy gives
now. Review it like a spreadsheet; from then on \`sallyport matrix test\` shows what has become different.
With --missing it writes only what no matrix of --out states, into new files like orders.missing.csv, or
orders.missing-2.csv where that is there. Nothing is replaced.
Exit code: 0, or 2 when it could not run; then nothing was written.`)
    .examples('matrix init', 'matrix init --missing --role auditor')
    .action(async (flags: InitFlags) => {
      const { initMatrix } = await import('./init.ts')
      const files = await initMatrix({ ...readConfig(process.env), ...flags })
      printResult(flags.format, { files }, files.map((path) => `${path}\n`).join(''))
      if (files.length === 0) tell('nothing is missing: the matrices state every cell that can be asked\n')
    })
}

interface CoverageFlags extends FolderFlags {
  readonly min: number
  readonly minRules: number
  readonly format: 'text' | 'json' | 'html'
}

function declareCoverage(matrix: CliCommand): void {
  matrix
    .command('coverage')
    .description('show which cells nothing is stated about, and which rules no expectation depends on')
    .argument(...PATHS)
    .folders()
    .option('--min <percent>', 'how many of the cells must be stated', percent, 0)
    .option('--min-rules <percent>', 'how many rules, relations and views an expectation must depend on', percent, 0)
    .formats('text', 'json', 'html')
    .note(`A cell is a role (or anonymous), a method, a path and a way to relate to the object. An expectation depends on a rule
(a relation, a view) when it would not hold without it.
Exit code: 0, 1 when less than --min or --min-rules is covered, 2 when it could not run.`)
    .examples('matrix coverage --min 90', 'matrix coverage test/matrix --format html > coverage.html')
    .action(async (paths: readonly string[], flags: CoverageFlags) => {
      const { COVERAGE_FORMATS } = await import('../../tools/matrix/coverage/formats.ts')
      const { measureCoverage, percentOf } = await import('../../tools/matrix/coverage/coverage.ts')
      const suite = await readSuite(paths, flags)
      const coverage = measureCoverage(suite)
      printReport(flags.format, COVERAGE_FORMATS[flags.format](coverage))
      const { cells, rules, relations, views } = coverage
      const isEnough = percentOf(cells) >= flags.min && percentOf([...rules, ...relations, ...views]) >= flags.minRules
      if (!isEnough) process.exitCode = 1
    })
}

async function readSuite(matrices: readonly string[], flags: FolderFlags): Promise<PredictedSuite> {
  const { readPredictedSuite } = await import('../../tools/matrix/predict/suite.ts')
  return readPredictedSuite({ ...readConfig(process.env), ...flags, matrices }, Date.now())
}

interface MutateFlags extends FolderFlags {
  readonly min: number
  readonly only: readonly Operator[]
  readonly format: TextOrJson
}

function declareMutate(matrix: CliCommand): void {
  matrix
    .command('mutate')
    .description('make the mistakes that people make, and show those that no expectation notices')
    .argument(...PATHS)
    .folders()
    .option('--min <percent>', 'how many of the mistakes must be noticed', percent, 100)
    .addOption(
      new Option('--only <operator>', 'this kind of mistake; repeat for more').default([]).argParser(readOperator),
    )
    .formats()
    .note(`Makes a copy of the policy for each mistake that people make, and shows the mistakes that no expectation notices.
Nothing is written, and no server is asked.

Mistakes:
${Object.entries(OPERATORS)
  .map(([name, meaning]) => `  ${name.padEnd(18)} ${meaning}`)
  .join('\n')}

Exit code: 0 when at least --min percent of the mistakes are noticed, 1 when not, 2 when it could not run.`)
    .examples('matrix mutate', 'matrix mutate --only drop-deny --min 90')
    .action(async (paths: readonly string[], flags: MutateFlags) => {
      const { MUTATE_FORMATS } = await import('../../tools/matrix/mutate/formats.ts')
      const { mutate, scoreOf } = await import('../../tools/matrix/mutate/mutate.ts')
      const suite = await readSuite(paths, flags)
      const only = flags.only.length > 0 ? new Set(flags.only) : undefined
      const mutation = await withProgress('mutating {bar} {value} of {total}', (bar) =>
        mutate(suite, { only, observe: (done, of) => (done === 0 ? bar.start(of, 0) : bar.update(done)) }),
      )
      printReport(flags.format, MUTATE_FORMATS[flags.format](mutation))
      if (scoreOf(mutation) < flags.min) process.exitCode = 1
    })
}

interface AttackFlags extends TargetFlags {
  readonly resource: readonly string[]
  readonly format: TextOrJson
}

function declareAttack(matrix: CliCommand): void {
  withTargetOptions(matrix.command('attack'))
    .description('make the requests of one role as every other, and show what differs from the policy')
    .option(...RESOURCE)
    .formats()
    .note(`Each request that a role may make about an object of its own is made by every other role and without credentials, with the
ids of others in path, query and body. What each caller reaches is compared with the policy files.
Exit code: 0 when they agree, 1 when not (or when something could not be tried), 2 when it could not run.`)
    .examples('matrix attack --resource orders')
    .action(async (flags: AttackFlags) => {
      const { openTargetPool } = await import('../../tools/matrix/target/open-targets.ts')
      const { attackAll } = await import('../../tools/matrix/attack/attack-all.ts')
      const { ATTACK_FORMATS, reachesNoMore } = await import('../../tools/matrix/attack/attack-report.ts')
      const options = { ...targetSettings(), ...flags }
      const run = await withProgress('attacking {bar} {value} of {total}, {found} findings', (bar) => {
        let found = 0
        return attackAll({
          ...options,
          resources: flags.resource,
          signal: interrupted(),
          openTargets: (suite) => openTargetPool(suite, options, startServer),
          started: (total) => bar.start(total, 0, { found }),
          observe: ({ outcome }) => {
            if (outcome === 'different') found++
            bar.increment({ found })
          },
        })
      })
      printReport(flags.format, ATTACK_FORMATS[flags.format](run))
      if (!reachesNoMore(run) || run.remarks.some((remark) => remark.startsWith('The run ended early')))
        process.exitCode = 1
    })
}

function pattern(text: string): RegExp {
  try {
    return new RegExp(text, 'i')
  } catch {
    throw new InvalidArgumentError('It must be a regular expression.')
  }
}

function report(text: string, before: TestFlags['report']): TestFlags['report'] {
  if (text === 'text') return before
  const { name, file = '' } = /^(?<name>[a-z]+)=(?<file>.+)$/.exec(text)?.groups ?? {}
  const format = REPORT_FORMATS.find((one) => one === name)
  if (format) return [...before, { format, file }]
  throw new InvalidArgumentError(`It must be one of ${REPORT_FORMATS.join(', ')}, = and a file.`)
}

function readOperator(text: string, before: readonly Operator[]): readonly Operator[] {
  if (Object.hasOwn(OPERATORS, text)) return [...before, text as Operator]
  throw new InvalidArgumentError(`It must be one of ${Object.keys(OPERATORS).join(', ')}.`)
}
