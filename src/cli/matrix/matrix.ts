/** sallyport matrix …: writes, tests and measures the expected answers for each caller. */
import { Argument, type Command, InvalidArgumentError, Option } from 'commander'
import { setExitCode } from '../../base/command-process.ts'
import { printNote, printReport, printResult } from '../../present/print.ts'
import { OPERATORS, type Operator } from '../../tools/matrix/mutate/operators.ts'
import type { PredictedSuite } from '../../tools/matrix/predict/suite.ts'
import type { Run, Timed } from '../../tools/matrix/run/result.ts'
import type { RunOptions } from '../../tools/matrix/run/run-trials.ts'
import {
  commandGroup,
  formats,
  MATRIX_PLACES,
  ONLY_RESOURCES,
  POLICIES,
  percent,
  SCHEMAS,
  settingsWith,
  TEXT_OR_JSON,
  wholeNumber,
  withHelp,
} from '../options.ts'
import { stopSignal, withProgress } from '../progress.ts'
import { targetSettings, withTargetOptions } from './target-options.ts'

const PATHS = new Argument('[paths...]', 'folders or files of matrices (*.csv) and cases (*.yaml)').default([
  'test/matrix',
])

const REPORT_FORMATS = ['text', 'junit', 'json', 'html', 'sarif'] as const

interface ReportFile {
  readonly format: (typeof REPORT_FORMATS)[number]
  readonly file: string
}

export function matrixCommand(): Command {
  return commandGroup(
    'matrix',
    'write, test and measure the expected answers for each caller',
    declareTest,
    declareShow,
    declareFind,
    declareInit,
    declareCoverage,
    declareMutate,
    declareAttack,
  )
}

function declareTest(matrix: Command): void {
  withTargetOptions(
    withHelp(matrix.command('test'), {
      about: 'send the request of each cell, and show unexpected answers',
      note: `docs/testing-policies.md explains how to write matrices and cases.
Exit code: 0 when all answers are as expected, 1 when not, 2 when the command could not run.`,
      examples: [
        'matrix test',
        'matrix test test/matrix/orders.csv --role member --report html=matrix.html',
        "matrix test --only 'DELETE .* as auditor'",
        'matrix test --url http://127.0.0.1:3000',
        'matrix test --url https://api.example.com --tokens tokens.yaml --setup-role admin',
      ],
    }),
  )
    .addArgument(PATHS)
    .option('--only <pattern>', 'only cells whose title in the report matches this regular expression', pattern)
    .option('--role <name...>', 'only columns with this role or name; repeat for more', [])
    .addOption(ONLY_RESOURCES)
    .option('--bail', 'stop at the first unexpected answer', false)
    .option('--parallel <number>', 'how many cells to try at once', wholeNumber(1, 999))
    .option(
      '--report <format=file>',
      'also write a report: text, junit, json, html or sarif; repeat for more',
      report,
      [],
    )
    .addOption(TEXT_OR_JSON)
    .action(async (paths, flags) => {
      const { testMatrices } = await import('../../tools/matrix/run/trials.ts')
      const { REPORTS, refuseReports, writeReports } = await import('../../tools/matrix/report/reports.ts')
      await refuseReports(flags.report)
      const filter = { roles: flags.role, resources: flags.resource, ...(flags.only ? { only: flags.only } : {}) }
      const run = await runOnTargets('testing', flags, (options) => testMatrices(paths, { ...options, filter }))
      // Printed first, so that the result isn't lost if a report can't be written after all.
      printReport(flags.format, REPORTS[flags.format](run))
      await writeReports(flags.report, run)
    })
}

interface TargetFlags {
  readonly data?: string
  readonly setupRole: string
  readonly parallel?: number
}

/** Runs trials, and shows how far they are. Sets the exit code to 1 unless every trial passed. */
async function runOnTargets<F extends TargetFlags, R extends Timed>(
  doing: string,
  flags: F,
  start: (options: F & ReturnType<typeof targetSettings> & RunOptions<unknown>) => Promise<Run<R>>,
): Promise<Run<R>> {
  const { openTargetPool } = await import('../../tools/matrix/target/open-targets.ts')
  const { isGreen } = await import('../../tools/matrix/run/result.ts')
  const settings = { ...targetSettings(flags), ...flags }
  const run = await withProgress(`${doing} {bar} {value} of {total}, {red} wrong or not tried`, (bar) => {
    let red = 0
    return start({
      ...settings,
      signal: interrupted(),
      openTargets: (suite) => openTargetPool(suite, settings),
      started: (total) => bar.start(total, 0, { red }),
      observe: ({ outcome }) => {
        if (outcome !== 'passed') red++
        bar.increment({ red })
      },
    })
  })
  if (!isGreen(run)) setExitCode(1)
  return run
}

function declareShow(matrix: Command): void {
  withHelp(matrix.command('show'), {
    about: 'show the rows of matrices, and what is wrong with them',
    note: 'Exit code: 0, 1 for files with faults, 2 when it could not run.',
    examples: ['matrix show', 'matrix show test/matrix/orders.csv'],
  })
    .addArgument(PATHS)
    .addOption(TEXT_OR_JSON)
    .action(async (paths, { format }) => {
      const { SHOWN_FORMATS, showMatrices } = await import('../../tools/matrix/report/shown.ts')
      const shown = await showMatrices(paths)
      printReport(format, SHOWN_FORMATS[format](shown))
      if (shown.faults.length > 0) setExitCode(1)
    })
}

function declareFind(matrix: Command): void {
  withHelp(matrix.command('find'), {
    about: 'find the cells that state the answer to a request',
    note: 'Exit code: 0, or 2 when it could not run.',
    examples: ["matrix find GET '/api/orders/{id}'", "matrix find DELETE '/api/orders/{id}' --role member"],
  })
    .argument('<method>', 'GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS')
    .argument('<path>', 'as the schema writes it: /api/orders/{id}')
    .addOption(MATRIX_PLACES)
    .option('--role <name...>', 'only this column: a role, member+auditor, anonymous, user:<id>; repeat for more', [])
    .addOption(TEXT_OR_JSON)
    .action(async (method, path, { matrices, role, format }) => {
      const { STATED_FORMATS, statedCells } = await import('../../tools/matrix/report/shown.ts')
      const cells = await statedCells(matrices, { method, path, columns: role })
      printReport(format, STATED_FORMATS[format](cells))
      if (cells.length === 0) printNote('no cell states it\n')
    })
}

function declareInit(matrix: Command): void {
  withHelp(matrix.command('init'), {
    about: 'write the complete matrix of the present policy, for review',
    note: `The command writes one file for each resource: each method, path and set of relations, with the present
answer. Review the files in a spreadsheet program. After that, \`sallyport matrix test\` shows what has changed.
With --missing, it replaces no file: it writes new files like orders.missing.csv, or orders.missing-2.csv.
Exit code: 0, or 2 when it could not run; then it wrote nothing.`,
    examples: ['matrix init', 'matrix init --missing --role auditor'],
  })
    .option('--out <directory>', 'the folder of the matrices', 'test/matrix')
    .addOption(POLICIES)
    .addOption(SCHEMAS)
    .option('--missing', 'write only cells that no matrix of --out states', false)
    .option('--role <name...>', 'only this column: a role, member+auditor, anonymous, user:<id>; repeat for more', [])
    .option('--force', 'replace existing files', false)
    .addOption(TEXT_OR_JSON)
    .action(async (flags) => {
      const { initMatrix } = await import('../../tools/matrix/init/write-matrix.ts')
      const files = await initMatrix(await settingsWith(flags))
      printResult(flags.format, { files }, files.map((path) => `${path}\n`).join(''))
      if (files.length === 0) printNote('nothing is missing: the matrices state all possible cells\n')
    })
}

function declareCoverage(matrix: Command): void {
  withHelp(matrix.command('coverage'), {
    about: 'show cells without an expectation, and rules that no expectation depends on',
    note: `A cell is a caller, a method, a path and a set of relations to the object.
An expectation depends on a rule (a relation, a view) if it would not hold without it.
A term (a right side) is shown both ways if an expectation depends on its rule, and one on the term.
Exit code: 0, 1 when less than --min or --min-rules is covered, 2 when it could not run.`,
    examples: ['matrix coverage --min 90', 'matrix coverage test/matrix --format html > coverage.html'],
  })
    .addArgument(PATHS)
    .addOption(POLICIES)
    .addOption(SCHEMAS)
    .option('--min <percent>', 'exit with 1 if fewer cells have an expectation', percent, 0)
    .option(
      '--min-rules <percent>',
      'exit with 1 if expectations depend on fewer rules, terms, right sides, relations and views',
      percent,
      0,
    )
    .addOption(formats('text', 'json', 'html'))
    .action(async (paths, flags) => {
      const { COVERAGE_FORMATS } = await import('../../tools/matrix/coverage/report.ts')
      const { measureCoverage, partsOf, percentOf } = await import('../../tools/matrix/coverage/coverage.ts')
      const suite = await readSuite(paths, flags)
      const coverage = await measureCoverage(suite)
      printReport(flags.format, COVERAGE_FORMATS[flags.format](coverage))
      const isEnough = percentOf(coverage.cells) >= flags.min && percentOf(partsOf(coverage)) >= flags.minRules
      if (!isEnough) setExitCode(1)
    })
}

async function readSuite(matrices: readonly string[], flags: object): Promise<PredictedSuite> {
  const { readPredictedSuite } = await import('../../tools/matrix/predict/suite.ts')
  return readPredictedSuite({ ...(await settingsWith(flags)), matrices }, Date.now())
}

function declareMutate(matrix: Command): void {
  withHelp(matrix.command('mutate'), {
    about: 'put typical mistakes into copies of the policy, and show those that no expectation notices',
    note: `The command writes no file, and needs no server. With --resource, it makes only mistakes that can matter to this
resource, and judges them by the requests about it.

Mistakes:
${Object.entries(OPERATORS)
  .map(([name, meaning]) => `  ${name.padEnd(18)} ${meaning}`)
  .join('\n')}

Exit code: 0 when expectations notice at least --min percent of the mistakes, 1 when fewer, 2 when it could not run.`,
    examples: ['matrix mutate', 'matrix mutate --only drop-deny --min 90', 'matrix mutate --resource orders'],
  })
    .addArgument(PATHS)
    .addOption(POLICIES)
    .addOption(SCHEMAS)
    .option('--min <percent>', 'exit with 1 if expectations notice fewer of the mistakes', percent, 100)
    .addOption(
      new Option('--only <operator>', 'only this kind of mistake; repeat for more').default([]).argParser(readOperator),
    )
    .addOption(ONLY_RESOURCES)
    .addOption(TEXT_OR_JSON)
    .action(async (paths, flags) => {
      const { MUTATE_FORMATS } = await import('../../tools/matrix/mutate/formats.ts')
      const { mutate, scoreOf } = await import('../../tools/matrix/mutate/judge-mutant.ts')
      const suite = await readSuite(paths, flags)
      const only = flags.only.length > 0 ? new Set(flags.only) : undefined
      const mutation = await withProgress('mutating {bar} {value} of {total}', (bar) =>
        mutate(suite, {
          only,
          resources: flags.resource,
          observe: (done, of) => (done === 0 ? bar.start(of, 0) : bar.update(done)),
        }),
      )
      printReport(flags.format, MUTATE_FORMATS[flags.format](mutation))
      if (scoreOf(mutation) < flags.min) setExitCode(1)
    })
}

function declareAttack(matrix: Command): void {
  withTargetOptions(
    withHelp(matrix.command('attack'), {
      about: 'repeat the requests of each role as every other caller, and show answers that differ from the policy',
      note: `The command takes each request that a role may make about its own object, and repeats it as every other role
and without credentials, with the ids of others in path, query and body. It tries to reach other tenants and projects:
with the parents and attributes of others, and with rows that relate the caller to objects of others. It compares the
answers with the policy files.
Exit code: 0 when they agree, 1 when they differ or a request could not be tried, 2 when the command could not run.`,
      examples: ['matrix attack --resource orders'],
    }),
  )
    .addOption(ONLY_RESOURCES)
    .addOption(TEXT_OR_JSON)
    .action(async (flags) => {
      const { attackAll } = await import('../../tools/matrix/attack/attack-all.ts')
      const { ATTACK_FORMATS } = await import('../../tools/matrix/attack/attack-report.ts')
      const { resource: resources } = flags
      const run = await runOnTargets('attacking', flags, (options) => attackAll({ ...options, resources }))
      printReport(flags.format, ATTACK_FORMATS[flags.format](run))
    })
}

function readOperator(text: string, before: readonly Operator[]): readonly Operator[] {
  if (Object.hasOwn(OPERATORS, text)) return [...before, text as Operator]
  throw new InvalidArgumentError(`It must be one of ${Object.keys(OPERATORS).join(', ')}.`)
}

/** What it created is removed, unless the user asks twice. */
function interrupted(): AbortSignal {
  return stopSignal(
    'ending, and removing the objects and users of the run; press Ctrl-C again to leave them',
    'ended at once; some objects and users of the run remain on the server',
  )
}

function pattern(text: string): RegExp {
  try {
    return new RegExp(text, 'i')
  } catch {
    throw new InvalidArgumentError('It must be a regular expression.')
  }
}

function report(text: string, before: readonly ReportFile[] = []): readonly ReportFile[] {
  if (text === 'text') return before
  const { name, file = '' } = /^(?<name>[a-z]+)=(?<file>.+)$/.exec(text)?.groups ?? {}
  const format = REPORT_FORMATS.find((one) => one === name)
  if (format) return [...before, { format, file }]
  throw new InvalidArgumentError(`Write FORMAT=FILE, where FORMAT is one of ${REPORT_FORMATS.join(', ')}.`)
}
